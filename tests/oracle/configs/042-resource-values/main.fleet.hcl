resource "core_value" "a" {
  input = { name = "a", list = [1, "x", null] }
}
resource "core_value" "b" {
  input            = core_value.a.output
  triggers_replace = [1]
}
output "a" { value = core_value.a.output }
output "b" { value = core_value.b.output.list[1] }
output "t" { value = core_value.b.triggers_replace }
