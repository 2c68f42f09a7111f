resource "core_value" "x" {
  for_each = toset(["b", "a"])
  input    = [each.key, each.value]
}
output "all" { value = values(core_value.x)[*].output }
