variable "s" { type = string }
variable "l" { type = list(number) }
variable "u" {}
variable "m" { type = any }
variable "n" { type = number }
output "all" { value = [var.s, var.l, var.u, var.m, var.n] }
