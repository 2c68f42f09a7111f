variable "n" {
  default = 5
  validation {
    condition     = 1 > 0
    error_message = "Never."
  }
}
