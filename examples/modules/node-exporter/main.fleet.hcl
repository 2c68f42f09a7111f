# Numbers about a Mac for whoever is in its tailnet. Off is a real uninstall.

variable "enabled" {
  description = "Whether it is there; nothing of it is left otherwise"
  type        = bool
  default     = true
}

variable "program" {
  description = "node_exporter for darwin/arm64, on the machine that runs fleet"
  type        = string
}

variable "port" {
  description = "The port at which it listens, at the address of the tailnet alone"
  type        = number
  default     = 9100
}

resource "macos_node_exporter" "this" {
  count         = var.enabled ? 1 : 0
  source        = var.program
  source_sha256 = filesha256(var.program)
  port          = var.port
}

output "address" {
  description = "Where it listens; null while it is off"
  value       = one(macos_node_exporter.this[*].address)
}
