variable "provider_id" {
  type        = string
  description = "What the cloud knows the machine by; goes into the Node."
}

variable "release" {
  type    = string
  default = "0.12.1"
}

locals {
  flags = {
    "provider-id" = var.provider_id
    "node-labels" = join(",", [for key, value in { fleet = "runners", os = "macos" } : "${key}=${value}"])
  }
}

resource "macos_signed_binary" "kubelet" {
  path   = "/usr/local/bin/tart-kubelet"
  source = "tart-kubelet-${var.release}"
}

resource "macos_launchd_service" "kubelet" {
  label     = "dev.tart.kubelet"
  arguments = concat([macos_signed_binary.kubelet.path], [for name, value in local.flags : "--${name}=${value}"])
}

output "ready" { value = macos_launchd_service.kubelet.running }
