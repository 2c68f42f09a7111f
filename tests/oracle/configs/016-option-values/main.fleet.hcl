variable "l" { type = list(string) }
variable "n" { type = number }
variable "b" { type = bool }
variable "s" { type = string }
output "all" { value = [var.l, var.n, var.b, var.s] }
