variable "n" {
  default = 5
  validation {
    condition     = [var.n]
    error_message = "Never."
  }
}
