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

variable "kubeconfig_version" {
  description = "What is another one with another kubeconfig, such as a digest of it: the agent reads that once, and is started anew for another. It is kept in the state, so it is no secret"
  type        = string
  default     = null
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

variable "node_ip" {
  description = "The address of the Node, where `node_ip_source` does not find it"
  type        = string
  default     = null
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

variable "scrape_allowed_cidrs" {
  description = "Networks that may read its metrics; with none, private ones and the tailnet"
  type        = list(string)
  default     = []
}

variable "metrics_bind_address" {
  description = "Where it tells its metrics, such as `:8080`"
  type        = string
  default     = null
}

variable "health_port" {
  description = "The port at which it tells whether it is well; with null, 8081"
  type        = number
  default     = null
}

variable "tart_binary" {
  description = "By which path it starts Tart"
  type        = string
  default     = null
}

variable "vnc_control_dir" {
  description = "The directory through which the screens of VMs are asked for"
  type        = string
  default     = null
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
    "node-labels"               = local.labels == "" ? null : local.labels
    "node-ip-source"            = var.node_ip_source
    "provider-id"               = var.provider_id
    "disable-vm-gc"             = var.disable_vm_gc ? "" : null
    "vnc-relay-host"            = var.vnc_relay_host
    "vnc-relay-port"            = var.vnc_relay_port
    "runner-cache-root"         = var.runner_cache_root
    "cache-volume-cap-gib"      = var.cache_volume_cap_gib
    "cache-volume-cas-gib"      = var.cache_volume_cas_gib
    "node-ip"                   = var.node_ip
    "metrics-bind-address"      = var.metrics_bind_address
    "health-probe-bind-address" = var.health_port == null ? null : ":${var.health_port}"
    "tart-binary"               = var.tart_binary
    "vnc-control-dir"           = var.vnc_control_dir
  }
  order = [
    "node-labels", "node-ip-source", "provider-id", "disable-vm-gc", "vnc-relay-host", "vnc-relay-port", "runner-cache-root",
    "cache-volume-cap-gib", "cache-volume-cas-gib", "node-ip", "metrics-bind-address", "health-probe-bind-address",
    "tart-binary", "vnc-control-dir",
  ]
  scrapers = [for network in var.scrape_allowed_cidrs : "--scrape-allowed-cidr=${network}"]
  given    = [for name in local.order : local.optional[name] == "" ? "--${name}" : "--${name}=${local.optional[name]}" if local.optional[name] != null]
}

resource "macos_signed_binary" "this" {
  path          = "/usr/local/bin/tart-kubelet"
  source        = var.binary
  source_sha256 = var.binary_sha256
}

resource "host_directory" "of_agent" {
  for_each = toset(["/etc/tart-kubelet", "/var/log/tart-vms", "/var/lib/tart-userdata", coalesce(var.vnc_control_dir, "/var/lib/tart-vnc-control")])
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
  ], local.given, local.scrapers)

  environment = {
    HOME = "/Users/${var.user}"
    PATH = "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"
  }

  stdout_path = "/var/log/tart-kubelet.log"
  stderr_path = "/var/log/tart-kubelet.log"
  health_url  = "http://127.0.0.1:${coalesce(var.health_port, 8081)}/healthz"
  restart_on  = compact([macos_signed_binary.this.cdhash, var.kubeconfig_version])
}

output "label" {
  description = "The name by which launchd knows it"
  value       = macos_launchd_service.this.label
}
