variable "s" {
  type = "string"
}
