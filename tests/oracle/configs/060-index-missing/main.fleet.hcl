resource "core_value" "x" {
  count = 2
}
output "x" {
  value = core_value.x[2].id
}
