resource "core_value" "a" {}
resource "core_value" "x" {
  for_each = toset([core_value.a.id])
}
