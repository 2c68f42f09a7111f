resource "core_value" "a" {
  input = "v"
}
resource "core_value" "x" {
  for_each = { k = core_value.a.output }
  input    = each.value
}
output "x" { value = core_value.x["k"].output }
