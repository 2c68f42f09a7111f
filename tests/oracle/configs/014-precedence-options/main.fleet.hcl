variable "a" { default = "default" }
variable "b" { default = "default" }
output "all" { value = [var.a, var.b] }
