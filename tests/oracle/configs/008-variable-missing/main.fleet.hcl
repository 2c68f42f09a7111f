variable "needed" {
  type = string
}
output "x" { value = var.needed }
