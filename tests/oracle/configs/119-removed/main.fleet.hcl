removed {
  from = core_value.gone
  lifecycle {
    destroy = false
  }
}
output "x" { value = 1 }
