variable "e" {
  default   = "x"
  ephemeral = true
}
resource "core_value" "x" {
  input = var.e
}
