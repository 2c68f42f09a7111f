resource "core_value" "x" {}
moved {
  from = core_value.x
  to   = core_value.x
}
