resource "core_value" "new" {
  input = 1
}
moved {
  from = core_value.old
  to   = core_value.new
}
output "x" { value = core_value.new.output }
