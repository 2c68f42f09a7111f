# A fleet is described in *.fleet.hcl files. All such files of a directory belong together, in any order.
#
#   fleet validate    finds every mistake
#   fleet plan        compares these files with reality and changes nothing
#   fleet apply       makes reality equal to these files
#   fleet destroy     removes what apply made

# An input. Its value comes from fleet.vars.hcl, from --var site=… or from FLEET_VAR_site.
variable "site" {
  description = "The name of this site"
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.site))
    error_message = "The site must be a lower-case DNS label."
  }
}

variable "minis" {
  description = "The Mac minis on the desk: name and address"
  type        = map(string)
  default     = {}
}

# A name for an expression that is used more than once.
locals {
  inventory = [for name, address in var.minis : "${address} ${var.site}-${name}"]
}

# A resource: something that should exist. This one is a file beside these.
resource "core_file" "inventory" {
  path    = "${path.module}/inventory.txt"
  content = join("", [for line in local.inventory : "${line}\n"])
  mode    = "0644"
}

# A result, printed by apply.
output "inventory" {
  description = "Where the inventory was written"
  value       = core_file.inventory.path
}
