resource "core_value" "a" {
  lifecycle {
    ignore_changes = [nope]
  }
}
