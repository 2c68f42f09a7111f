resource "core_value" "x" {
  input = 1
  input = 2
}
