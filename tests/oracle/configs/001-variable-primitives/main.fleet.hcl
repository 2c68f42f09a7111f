variable "s" {
  type    = string
  default = 5
}
variable "n" {
  type    = number
  default = "1.50"
}
variable "b" {
  type    = bool
  default = "true"
}
output "all" {
  value = [var.s, var.n, var.b]
}
