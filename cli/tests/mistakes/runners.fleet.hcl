# Five more, one of them in the syntax.

variable "size" {
  type    = number
  default = "three"
}

resource "core_value" "runner" {
  count = var.szie
  input = "runner-${count.index"
}

resource "core_value" "network" {
  input = "again"
}

locals {
  first  = local.second
  second = local.first
}
