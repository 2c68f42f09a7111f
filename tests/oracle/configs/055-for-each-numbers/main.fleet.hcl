resource "core_value" "x" {
  for_each = toset([1, 2])
}
