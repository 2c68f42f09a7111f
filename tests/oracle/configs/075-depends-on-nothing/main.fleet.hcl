resource "core_value" "a" {
  depends_on = [core_value.nope]
}
