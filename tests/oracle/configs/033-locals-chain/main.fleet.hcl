locals {
  d = "${local.c}d"
  c = "${local.b}c"
}
locals {
  b = "${local.a}b"
  a = "a"
}
output "d" { value = local.d }
