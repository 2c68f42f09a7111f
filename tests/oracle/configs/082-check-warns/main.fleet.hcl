resource "core_value" "a" {
  input = 1
}
check "small" {
  assert {
    condition     = core_value.a.input > 1
    error_message = "Too small."
  }
}
output "a" { value = core_value.a.output }
