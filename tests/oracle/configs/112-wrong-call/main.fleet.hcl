output "x" {
  value = uper("a")
}
