variable "o" {
  type = object({ a = string, b = number })
}
output "o" { value = var.o }
