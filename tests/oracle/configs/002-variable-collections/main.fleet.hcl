variable "l" {
  type    = list(string)
  default = [1, true, "x"]
}
variable "s" {
  type    = set(number)
  default = [3, "1", 3]
}
variable "m" {
  type    = map(string)
  default = { a = 1, b = "two" }
}
output "l" { value = var.l }
output "s" { value = var.s }
output "m" { value = var.m }
