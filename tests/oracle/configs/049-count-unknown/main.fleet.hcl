resource "core_value" "a" {
  input = 2
}
resource "core_value" "x" {
  count = core_value.a.output
}
