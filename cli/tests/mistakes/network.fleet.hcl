# Five mistakes, two of them in the syntax.

variable "cidr" {
  type    = strng
  default = "10.0.0.0/8"
}

locals {
  broken = [1, 2
  subnet = cidrsubnet(var.cidr, 8, 1)
}

resource "core_value" "network" {
  inptu = local.subnet
}

resource "core_value" "gateway" {
  input = cidrhots(local.subnet, 1)
}

output "gateway" {
  value = core_value.gateway.output..id
}
