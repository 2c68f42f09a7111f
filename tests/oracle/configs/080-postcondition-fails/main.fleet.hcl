resource "core_value" "a" {
  input = 2
  lifecycle {
    postcondition {
      condition     = self.input > 2
      error_message = "Too small."
    }
  }
}
