# A Mac as a Node of Kubernetes, whose Pods are VMs of Tart: the agent, its credentials, its directories and its service. The
# flags of the agent are those that are given, and no others.

variable "node_name" {
  description = "The name of the Node, which is that of the host"
  type        = string
}

variable "binary" {
  description = "The agent on the machine that runs fleet"
  type        = string
}

variable "binary_sha256" {
  description = "Its SHA-256"
  type        = string
}

variable "kubeconfig" {
  description = "How the agent reaches the cluster, with its token"
  type        = string
  sensitive   = true
}

variable "user" {
  description = "Who runs it: whoever is logged in at the screen, because VMs need that session"
  type        = string
  default     = "m1"
}

variable "label" {
  description = "The name by which launchd knows it"
  type        = string
  default     = "dev.fleet.tart-kubelet"
}

variable "host_cpu" {
  type    = number
  default = 8
}

variable "host_memory_mb" {
  description = "Less than the Mac has: the system keeps about 2 GB for itself"
  type        = number
  default     = 14336
}

variable "max_pods" {
  description = "Pods of DaemonSets count, too: with 2, a rollout waits for itself"
  type        = number
  default     = 3
}

variable "node_labels" {
  type    = map(string)
  default = {}
}

variable "node_ip_source" {
  description = "Such as `tailscale`"
  type        = string
  default     = null
}

variable "provider_id" {
  description = "What the vendor calls the machine. A Node keeps its first one for ever"
  type        = string
  default     = null
}

variable "disable_vm_gc" {
  description = "Whether VMs without a Pod are left alone: hosts that build images need it"
  type        = bool
  default     = false
}

variable "vnc_relay_host" {
  type    = string
  default = null
}

variable "vnc_relay_port" {
  type    = number
  default = null
}

variable "runner_cache_root" {
  type    = string
  default = null
}

variable "cache_volume_cap_gib" {
  type    = number
  default = null
}

variable "cache_volume_cas_gib" {
  type    = number
  default = null
}

locals {
  # Maps have the order of their keys, so that the flag is the same every time.
  labels = join(",", [for key, value in var.node_labels : "${key}=${value}"])

  optional = {
    "node-labels"          = local.labels == "" ? null : local.labels
    "node-ip-source"       = var.node_ip_source
    "provider-id"          = var.provider_id
    "disable-vm-gc"        = var.disable_vm_gc ? "" : null
    "vnc-relay-host"       = var.vnc_relay_host
    "vnc-relay-port"       = var.vnc_relay_port
    "runner-cache-root"    = var.runner_cache_root
    "cache-volume-cap-gib" = var.cache_volume_cap_gib
    "cache-volume-cas-gib" = var.cache_volume_cas_gib
  }
  order = [
    "node-labels", "node-ip-source", "provider-id", "disable-vm-gc", "vnc-relay-host", "vnc-relay-port", "runner-cache-root",
    "cache-volume-cap-gib", "cache-volume-cas-gib",
  ]
  given = [for name in local.order : local.optional[name] == "" ? "--${name}" : "--${name}=${local.optional[name]}" if local.optional[name] != null]
}

resource "macos_signed_binary" "this" {
  path          = "/usr/local/bin/tart-kubelet"
  source        = var.binary
  source_sha256 = var.binary_sha256
}

resource "host_directory" "of_agent" {
  for_each = toset(["/etc/tart-kubelet", "/var/log/tart-vms", "/var/lib/tart-userdata", "/var/lib/tart-vnc-control"])
  path     = each.value
  owner    = var.user
  group    = "staff"
  sudo     = true
}

resource "host_file" "kubeconfig" {
  path    = "${host_directory.of_agent["/etc/tart-kubelet"].path}/kubeconfig"
  content = var.kubeconfig
  mode    = "0600"
  owner   = var.user
  group   = "staff"
  sudo    = true
}

resource "macos_launchd_service" "this" {
  label = var.label
  user  = var.user

  program_arguments = concat([
    macos_signed_binary.this.path,
    "--node-name=${var.node_name}",
    "--kubeconfig=${host_file.kubeconfig.path}",
    "--host-cpu=${var.host_cpu}",
    "--host-memory-mb=${var.host_memory_mb}",
    "--max-pods=${var.max_pods}",
  ], local.given)

  environment = {
    HOME = "/Users/${var.user}"
    PATH = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"
  }

  stdout_path = "/var/log/tart-kubelet.log"
  stderr_path = "/var/log/tart-kubelet.log"
  health_url  = "http://127.0.0.1:8081/healthz"
  restart_on  = [macos_signed_binary.this.cdhash]
}

output "label" {
  description = "The name by which launchd knows it"
  value       = macos_launchd_service.this.label
}
