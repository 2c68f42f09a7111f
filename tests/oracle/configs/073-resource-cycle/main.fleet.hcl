resource "core_value" "a" {
  input = core_value.b.id
}
resource "core_value" "b" {
  input = core_value.a.id
}
