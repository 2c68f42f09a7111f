variable "n" {
  validation {
    condition     = var.n > 1
    error_message = "Too small."
  }
}
