resource "core_value" "a" {
  for_each = toset(["x", "y"])
  input    = upper(each.key)
}
resource "core_value" "b" {
  for_each = core_value.a
  input    = "${each.key}${each.value.output}"
}
output "b" { value = [for r in core_value.b : r.output] }
