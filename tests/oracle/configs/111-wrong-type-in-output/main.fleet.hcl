locals {
  n = 1
}
output "x" {
  value = local.n.a
}
