output "x" {
  value = module.nope.y
}
