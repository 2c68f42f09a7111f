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
  path          = "/usr/local/bin/tart-kubelet"
  source        = "tart-kubelet-${var.release}"
  source_sha256 = "ab211233b6576dbb0f8b5826447eeac61e2a833a99ac5d788fbc1a174c3c6ce5"
}

resource "macos_launchd_service" "kubelet" {
  label             = "dev.tart.kubelet"
  program_arguments = concat([macos_signed_binary.kubelet.path], [for name, value in local.flags : "--${name}=${value}"])
}

output "ready" { value = macos_launchd_service.kubelet.trouble == null }
