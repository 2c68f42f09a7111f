resource "core_value" "x" {
  count = "2"
  input = count.index
}
output "all" { value = core_value.x[*].input }
