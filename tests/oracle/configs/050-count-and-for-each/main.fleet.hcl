resource "core_value" "x" {
  count    = 1
  for_each = toset(["a"])
}
