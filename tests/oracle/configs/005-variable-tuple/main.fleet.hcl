variable "t" {
  type    = tuple([string, number, bool])
  default = [1, "2", "true"]
}
output "t" { value = var.t }
