resource "core_value" "x" {
  for_each = ["a", "b"]
}
