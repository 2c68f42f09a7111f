variable "name" { type = string }
variable "size" { default = 1 }
resource "core_value" "x" {
  input = "${var.name}:${var.size}"
}
output "text" { value = core_value.x.output }
output "path" { value = basename(path.module) }
