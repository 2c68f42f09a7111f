resource "core_value" "a" {
  depends_on = ["${core_value.b.id}"]
}
resource "core_value" "b" {}
