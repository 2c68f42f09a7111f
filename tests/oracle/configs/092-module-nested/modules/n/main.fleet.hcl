variable "name" {}
output "out" { value = upper(var.name) }
