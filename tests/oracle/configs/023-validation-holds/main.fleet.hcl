variable "n" {
  type    = number
  default = 5
  validation {
    condition     = var.n > 3 && var.n < 10
    error_message = "The number must lie between 3 and 10."
  }
}
output "n" { value = var.n }
