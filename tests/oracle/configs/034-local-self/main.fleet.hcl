locals {
  a = "${local.a}x"
}
