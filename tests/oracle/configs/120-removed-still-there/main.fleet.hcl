resource "core_value" "here" {}
removed {
  from = core_value.here
  lifecycle {
    destroy = false
  }
}
