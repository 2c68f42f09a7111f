locals {
  a = local.b
}
output "x" { value = local.a }
