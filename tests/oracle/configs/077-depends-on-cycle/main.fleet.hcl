resource "core_value" "a" {
  depends_on = [core_value.b]
}
resource "core_value" "b" {
  depends_on = [core_value.a]
}
