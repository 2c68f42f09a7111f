resource "core_value" "a" {
  input = 1
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [input]
    replace_triggered_by  = [core_value.b]
  }
}
resource "core_value" "b" {
  input = 1
  lifecycle {
    ignore_changes = all
  }
}
output "a" { value = core_value.a.output }
