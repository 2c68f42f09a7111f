variable "provider_id" {
  type = string
}

resource "macos_launch_daemon" "kubelet" {
  label = "ci.kubelet"
  args  = ["/usr/local/bin/tart-kubelet", "--provider-id", var.provider_id]
}

output "ready" {
  value = macos_launch_daemon.kubelet.running
}
