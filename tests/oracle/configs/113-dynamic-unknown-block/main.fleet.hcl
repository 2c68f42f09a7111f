resource "core_value" "x" {
  dynamic "thing" {
    for_each = [1]
    content {}
  }
}
