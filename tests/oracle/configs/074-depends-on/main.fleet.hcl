resource "core_value" "a" {
  input      = 1
  depends_on = [core_value.b]
}
resource "core_value" "b" {
  input = 2
}
output "a" {
  value      = core_value.a.output
  depends_on = [core_value.b]
}
