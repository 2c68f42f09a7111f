variable "limit" { default = 3 }
variable "n" {
  default = 5
  validation {
    condition     = var.n < var.limit
    error_message = "Too large."
  }
}
