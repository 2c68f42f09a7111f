variable "a" { type = list(string) }
output "a" { value = var.a }
