resource "core_value" "x" {
  for_each = sensitive(toset(["a"]))
}
