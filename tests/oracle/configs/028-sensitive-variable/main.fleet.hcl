variable "s" {
  default   = "hidden"
  sensitive = true
}
output "s" {
  value     = "x${var.s}"
  sensitive = true
}
output "open" { value = nonsensitive(length(var.s)) }
