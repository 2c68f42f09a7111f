variable "s" {
  type = text
}
