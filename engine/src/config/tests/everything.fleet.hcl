settings {
  required_version = "~> 0.1, != 0.0.9"
  digest_key       = secret.key
  backend "postgres" {
    url = secret.db
  }
}

variable "plain" {}

variable "full" {
  type        = object({ a = string, b = optional(number, 3) })
  default     = { a = 1 }
  description = "Everything a variable can say."
  sensitive   = true
  ephemeral   = true
  nullable    = false
  validation {
    condition     = var.full.b > 2
    error_message = "Not ${var.full.a}."
  }
}

locals {
  one = 1
  two = local.one + 1
}

secret "key" { from = "env:KEY" }

provider "p" {
  url = "https://example.test"
}

provider "p" {
  alias = "other"
  nested {
    a = 1
  }
}

resource "core_value" "a" {
  count      = 2
  provider   = p.other
  depends_on = [core_value.b, module.m]
  input      = count.index

  dynamic "part" {
    for_each = [1, 2]
    iterator = it
    labels   = [it.key]
    content {
      x = it.value
    }
  }

  lifecycle {
    create_before_destroy = true
    prevent_destroy       = true
    ignore_changes        = [input, input["k"].x[0]]
    replace_triggered_by  = [core_value.b[count.index], core_value.b["k"].output]
    precondition {
      condition     = local.one == 1
      error_message = "before"
    }
    postcondition {
      condition     = self.output != null
      error_message = "after"
    }
  }
}

resource "core_value" "b" {
  for_each = toset(["x"])
  lifecycle {
    prevent_destroy = false
    ignore_changes  = all
  }
}

data "core_value" "b" {
  provider = p
}

module "m" {
  source     = "./child/../child"
  for_each   = toset(["x"])
  depends_on = [data.core_value.b]
  providers  = { p = p.other, p.x = p }
  a          = each.value
}

pool "static" "desk" {
  note = "mine"
  host "mini-a" { address = "10.0.0.11" }
  host "mini b" { address = "10.0.0.12" }
  return {
    method   = var.plain
    deadline = "45m"
  }
}

fleet "desk" {
  pool       = pool.desk
  hosts      = ["mini-a"]
  hostname   = host.key
  depends_on = [core_value.a]

  data "core_value" "inner" {}
  module "inner" {
    source = "./child"
    a      = host.key
  }
}

check "c" {
  data "core_value" "scoped" {}
  assert {
    condition     = data.core_value.scoped.output == 1
    error_message = "one"
  }
  assert {
    condition     = local.two == 2
    error_message = "two"
  }
}

moved {
  from = core_value.old[0]
  to   = core_value.a["k"]
}

removed {
  from = module.gone
}

removed {
  from = core_value.gone
  lifecycle {
    destroy = false
  }
}

import {
  for_each = { x = "id" }
  to       = core_value.b[each.key]
  id       = each.value
  provider = p.other
}

output "o" {
  value       = local.two
  description = "Everything an output can say."
  sensitive   = true
  ephemeral   = false
  depends_on  = [core_value.a]
  precondition {
    condition     = local.two == 2
    error_message = "three"
  }
}
