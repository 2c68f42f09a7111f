resource "core_value" "x" {
  for_each = toset(["a"])
}
output "x" {
  value = core_value.x["b"].id
}
