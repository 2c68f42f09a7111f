variable "a" { default = "x" }
variable "b" {
  default  = "x"
  nullable = false
}
output "a" { value = var.a == null }
output "b" { value = var.b }
