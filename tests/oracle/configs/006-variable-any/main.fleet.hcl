variable "a" {
  type    = any
  default = [1, "x"]
}
variable "l" {
  type    = list(any)
  default = [1, "x"]
}
variable "m" {
  type    = map(any)
  default = { a = 1, b = 2 }
}
output "a" { value = var.a }
output "l" { value = var.l }
output "m" { value = var.m }
