output "x" {
  value = core_value.nope.output
}
