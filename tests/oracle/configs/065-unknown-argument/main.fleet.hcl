resource "core_value" "x" {
  input = 1
  nope  = 2
}
