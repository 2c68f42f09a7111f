resource "core_value" "x" {
  for_each = { b = 2, a = 1 }
  input    = "${each.key}=${each.value}"
}
output "all" { value = { for k, v in core_value.x : k => v.output } }
output "keys" { value = keys(core_value.x) }
output "one" { value = core_value.x["a"].input }
