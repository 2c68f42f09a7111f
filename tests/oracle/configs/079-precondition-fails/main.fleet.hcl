locals {
  n = 2
}
resource "core_value" "a" {
  input = local.n
  lifecycle {
    precondition {
      condition     = local.n > 2
      error_message = "Too small."
    }
  }
}
