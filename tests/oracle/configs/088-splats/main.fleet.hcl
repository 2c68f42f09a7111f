resource "core_value" "one" {
  input = { a = [1, 2] }
}
resource "core_value" "many" {
  count = 2
  input = { a = [count.index] }
}
output "one" { value = core_value.one[*].output.a }
output "many" { value = core_value.many[*].output.a[0] }
output "legacy" { value = core_value.many.*.input.a[0] }
