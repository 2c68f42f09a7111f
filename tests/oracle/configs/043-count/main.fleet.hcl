resource "core_value" "x" {
  count = 3
  input = "n${count.index}"
}
output "all" { value = core_value.x[*].output }
output "one" { value = core_value.x[1].input }
output "length" { value = length(core_value.x) }
