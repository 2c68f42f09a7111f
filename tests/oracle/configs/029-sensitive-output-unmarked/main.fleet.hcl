variable "s" {
  default   = "hidden"
  sensitive = true
}
output "s" {
  value = "x${var.s}"
}
