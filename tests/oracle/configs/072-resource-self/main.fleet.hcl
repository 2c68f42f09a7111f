resource "core_value" "x" {
  input = core_value.x.id
}
