variable "a" {}
variable "b" { default = { x = [1] } }
output "a" { value = var.a }
output "b" { value = var.b }
