resource "core_value" "x" {
  input = 1
}
output "x" {
  value = core_value.x[0].id
}
