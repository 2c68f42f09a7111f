resource "core_value" "x" {
  count = null
}
