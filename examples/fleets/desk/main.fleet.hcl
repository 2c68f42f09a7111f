# Two Mac minis on a desk: an inventory of them, and a note for each.

variable "minis" {
  description = "Name and address of each mini"
  type        = map(string)
  default     = { a = "10.0.0.11", b = "10.0.0.12" }
}

resource "core_value" "release" {
  input = "2.1.0"
}

resource "core_file" "inventory" {
  path    = "${path.module}/inventory.txt"
  content = join("", [for name, address in var.minis : "${address} mini-${name}\n"])
}

resource "core_file" "note" {
  for_each = var.minis
  path     = "${path.module}/mini-${each.key}.txt"
  content  = "mini-${each.key} (${each.value}) runs ${core_value.release.output}\n"
  mode     = "0600"
}

output "notes" {
  value = [for note in core_file.note : note.path]
}
