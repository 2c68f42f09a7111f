locals {
  known = 1
}
output "x" {
  value = local.knwon
}
