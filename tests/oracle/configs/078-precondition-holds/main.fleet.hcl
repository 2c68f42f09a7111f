resource "core_value" "a" {
  input = 5
  lifecycle {
    precondition {
      condition     = 1 + 1 == 2
      error_message = "Sums are wrong."
    }
    postcondition {
      condition     = self.output == 5
      error_message = "It is ${self.output}."
    }
  }
}
output "a" { value = core_value.a.output }
