resource "core_value" "x" {
  count = false ? 1 : 0
}
output "all" { value = core_value.x[*].output }
output "one" { value = one(core_value.x[*].id) == null }
