# What all Macs of a fleet have in common: the baseline, Tart, a place in the tailnet, the agent that makes it a Node, and what
# tells others how it is. What refers to something comes after it, and goes before it. So no VM starts before the packet filter
# stands, and the agent comes after the tailnet whose address it takes; and on the way out the Node is drained, what its agent may
# do is revoked, and the tailnet forgets the Mac before its pool has it back.

variable "name" {
  description = "The one name of the Mac: its hostname, its device in the tailnet, its Node"
  type        = string
}

variable "installation" {
  description = "Which installation of the machine it is: another one has the name anew"
  type        = string
}

variable "env" {
  description = "The environment that the Mac belongs to"
  type        = string
}

variable "password" {
  description = "The password of the user at the screen. With null, the one that is on the Mac stays"
  type        = string
  sensitive   = true
  default     = null
}

variable "reaches" {
  description = "What VMs may reach of the private networks; see modules/mac-baseline"
  type        = object({ services = optional(string), names = optional(string), private_network = optional(string) })
  default     = {}
}

variable "vlan" {
  description = "The number of the VLAN that leads to the private network of `reaches`"
  type        = number
  default     = null
}

variable "ssh_allowed" {
  description = "Networks that may log in over SSH, beside the tailnet; with none of them, nobody is kept out"
  type        = list(string)
  default     = []
}

variable "cache" {
  description = "A volume for the caches of runners: how large it may grow, and how much of it one job may keep; null for none"
  type        = object({ quota_gib = number, cap_gib = number, cas_gib = number })
  default     = null
}

variable "programs" {
  description = "What is put on the Mac, as it lies on the machine that runs fleet. Without a program of its own, an exporter or a log shipper is not there"
  type = object({
    tart          = object({ version = string, source = string })
    tart_kubelet  = string
    tailscale     = string
    node_exporter = optional(string)
    log_shipper   = optional(string)
  })
}

variable "tailnet" {
  description = "The domain of the tailnet, and the tags by which its policy knows the Mac"
  type        = object({ domain = string, tags = list(string) })
}

variable "tailnet_key" {
  description = "The key by which it joins the tailnet"
  type        = string
  sensitive   = true
}

variable "cluster" {
  description = "The cluster: where accounts of agents are and which role they have; and where pods find a Service that leads to the Mac, by which group of proxies"
  type = object({
    namespace   = string
    role        = string
    egress      = string
    proxy_group = string
  })
}

variable "provider_id" {
  description = "What the vendor calls the machine"
  type        = string
}

variable "labels" {
  description = "The labels of the Node"
  type        = map(string)
  default     = {}
}

variable "disable_vm_gc" {
  description = "Whether VMs without a Pod are left alone: hosts that build images need it"
  type        = bool
  default     = false
}

variable "logs" {
  description = "Where Loki takes logs"
  type        = string
  default     = null
}

module "baseline" {
  source      = "../mac-baseline"
  name        = var.name
  password    = var.password
  reaches     = var.reaches
  vlan        = var.vlan
  ssh_allowed = var.ssh_allowed
  cache       = try({ name = "runner-cache", quota_gib = var.cache.quota_gib }, null)
}

resource "macos_tart" "this" {
  version       = var.programs.tart.version
  source        = var.programs.tart.source
  source_sha256 = filesha256(var.programs.tart.source)
}

# Nobody else has its name, and nobody has it once the Mac is gone.
resource "tailscale_name" "this" {
  name = var.name
  tags = var.tailnet.tags
  host = var.installation
}

resource "tailscale_device" "this" {
  source        = var.programs.tailscale
  source_sha256 = filesha256(var.programs.tailscale)
  hostname      = tailscale_name.this.name
  tags          = var.tailnet.tags
  auth_key      = var.tailnet_key
}

resource "macos_resolver" "tailnet" {
  domain      = var.tailnet.domain
  nameservers = ["100.100.100.100"]
}

resource "kubernetes_node_identity" "this" {
  name         = "tart-kubelet-${var.name}"
  namespace    = var.cluster.namespace
  cluster_role = var.cluster.role
}

locals {
  # A digest tells nothing about the token in it, which nobody guesses.
  kubeconfig_version = nonsensitive(sha256(kubernetes_node_identity.this.kubeconfig))
}

module "node" {
  source               = "../tart-kubelet"
  node_name            = tailscale_device.this.hostname
  node_ip_source       = "tailscale"
  binary               = var.programs.tart_kubelet
  binary_sha256        = filesha256(var.programs.tart_kubelet)
  kubeconfig           = kubernetes_node_identity.this.kubeconfig
  kubeconfig_version   = local.kubeconfig_version
  node_labels          = var.labels
  provider_id          = var.provider_id
  disable_vm_gc        = var.disable_vm_gc
  runner_cache_root    = module.baseline.cache
  cache_volume_cap_gib = try(var.cache.cap_gib, null)
  cache_volume_cas_gib = try(var.cache.cas_gib, null)
}

resource "kubernetes_node" "this" {
  name        = var.name
  provider_id = var.provider_id
  identity    = kubernetes_node_identity.this.name
  depends_on  = [module.node]
}

# Pods reach the Mac by it, whatever its address is.
resource "kubernetes_egress_service" "this" {
  name        = var.name
  namespace   = var.cluster.egress
  fqdn        = tailscale_device.this.fqdn
  proxy_group = var.cluster.proxy_group
  ports       = { node-exporter = 9100, tart-kubelet = 8080, pod-metrics = 9091, vnc-relay = 5900, ssh = 22 }
}

module "node_exporter" {
  source  = "../node-exporter"
  count   = var.programs.node_exporter == null ? 0 : 1
  program = var.programs.node_exporter
}

# Last on purpose: whether others see its logs does not decide whether it works.
module "log_shipper" {
  source     = "../log-shipper"
  count      = var.programs.log_shipper == null ? 0 : 1
  program    = var.programs.log_shipper
  url        = var.logs
  files      = { tart-kubelet = "/var/log/tart-kubelet.log" }
  instance   = var.name
  env        = var.env
  depends_on = [module.node]
}

output "address" {
  description = "Its address in the tailnet"
  value       = tailscale_device.this.ipv4
}
