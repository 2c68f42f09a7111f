resource "core_value" "x" {
  count = 1.5
}
