variable "one" {}
variable "two" {}
output "one" { value = var.one + 1 }
output "two" { value = var.two + 1 }
