variable "name" {}
module "n" {
  source = "../n"
  for_each = toset([var.name, "more"])
  name   = each.key
}
output "inner" { value = values(module.n)[*].out }
