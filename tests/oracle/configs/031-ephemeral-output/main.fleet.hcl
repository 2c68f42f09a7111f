variable "e" {
  default   = "x"
  ephemeral = true
}
output "e" {
  value = var.e
}
