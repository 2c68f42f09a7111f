resource "core_value" "a" {}
resource "core_value" "b" {}
moved {
  from = core_value.a
  to   = core_value.b
}
