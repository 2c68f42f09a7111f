# What has to be true on a Mac before it may run CI: who is root and who is logged in, that it stays awake and keeps its
# name, what its VMs may reach, and that people get in. Everything else on a host comes after it; nobody has to say so.

variable "name" {
  description = "The name of the Mac, which everything else about it goes by"
  type        = string
}

variable "user" {
  description = "Who fleet logs in as, and who is logged in at the screen"
  type        = string
  default     = "m1"
}

variable "password" {
  description = "The password of that user. With null, the one that is on the Mac stays"
  type        = string
  sensitive   = true
  default     = null
}

variable "reaches" {
  description = "What VMs may reach of the private networks, which are closed to them otherwise: services behind a tunnel, the server that knows their names, and nodes of a private network"
  type = object({
    services        = optional(string)
    names           = optional(string)
    private_network = optional(string)
  })
  default = {}

  validation {
    condition     = var.reaches.names == null || var.reaches.services != null
    error_message = "Names alone are of no use: say by `services` what they lead to."
  }
}

variable "vlan" {
  description = "The number of the VLAN that leads to the private network of `reaches`. It may be unknown before an apply"
  type        = number
  default     = null

  validation {
    condition     = var.reaches.private_network == null || var.vlan != null
    error_message = "Nothing leads to the private network of `reaches` without the number of its VLAN."
  }
}

variable "cache" {
  description = "A volume for caches that cannot outgrow its quota; null for none"
  type        = object({ name = string, quota_gib = number })
  default     = null
}

variable "ssh_allowed" {
  description = "Networks that may log in over SSH, beside the tailnet; with none of them, nobody is kept out"
  type        = list(string)
  default     = []
}

variable "reboot" {
  description = "Whether the Mac is started anew for what takes effect only then"
  type        = bool
  default     = true
}

# Who may do and see everything. The vendor's password is used once, for this.
resource "macos_sudoers" "this" {
  user = var.user
}

# A new Mac has none of these.
resource "host_directory" "local" {
  path = "/usr/local"
  sudo = true
}

resource "host_directory" "bin" {
  path = "${host_directory.local.path}/bin"
  sudo = true
}

resource "host_directory" "lib" {
  path = "${host_directory.local.path}/lib"
  sudo = true
}

resource "macos_hostname" "this" {
  name = var.name
}

# Whoever locks the screen or falls asleep ends the session that VMs need.
resource "macos_power" "this" {}

# An update that installs itself restarts the Mac under its jobs.
resource "macos_software_update" "this" {}

resource "macos_hardening" "this" {}

# Programs reach VMs without somebody who clicks on Allow; macOS reads that when it starts.
resource "macos_local_network" "this" {}

resource "host_reboot" "this" {
  when = var.reboot ? macos_local_network.this.reboot_required : false
}

# VMs need a session at the screen.
resource "macos_auto_login" "this" {
  user     = var.user
  password = var.password
}

# Whether there is one is known before its number is, which the vendor gives.
resource "macos_vlan" "private" {
  count = var.reaches.private_network == null ? 0 : 1
  name  = "pn"
  tag   = var.vlan
}

locals {
  vms    = ["192.168.64.0/22"]
  closed = ["10.0.0.0/8", "172.16.0.0/12", "169.254.0.0/16"]

  # The first rule that fits counts.
  passes = concat(
    var.reaches.services == null ? [] : ["pass out quick proto tcp from <vm_sources> to ${var.reaches.services} port 4000 keep state"],
    var.reaches.names == null ? [] : [
      for protocol in ["tcp", "udp"] : "pass out quick proto ${protocol} from <vm_sources> to ${var.reaches.names} port 53 keep state"
    ],
    var.reaches.private_network == null ? [] : ["pass out quick proto tcp from <vm_sources> to ${var.reaches.private_network} port 30000:32767 keep state"],
  )
}

# VMs reach the internet, and neither private networks nor the vendor's metadata.
resource "macos_pf_anchor" "egress" {
  name   = "ci.vms"
  tables = { vm_sources = local.vms, blocked_dst = local.closed }
  rules  = concat(local.passes, ["block drop out quick from <vm_sources> to <blocked_dst>"])
}

# That of macOS itself is lost after many VMs have come and gone.
resource "macos_vm_nat" "this" {
  vms             = local.vms[0]
  service_network = var.reaches.services
  private_network = var.reaches.private_network
}

resource "macos_pf_ssh_guard" "this" {
  count   = length(var.ssh_allowed) == 0 ? 0 : 1
  allowed = var.ssh_allowed
  vms     = local.vms
}

resource "macos_apfs_volume" "cache" {
  for_each  = { for cache in [var.cache] : cache.name => cache.quota_gib if cache != null }
  name      = each.key
  quota_gib = each.value
  owner     = var.user
}

# Lets people in again when scanners have filled the backlog of the port.
module "ssh_reachability" {
  source = "../ssh-reachability"
  bin    = host_directory.bin.path
}

output "cache" {
  description = "Where the volume for caches is mounted; null if there is none"
  value       = one([for volume in macos_apfs_volume.cache : volume.mount_point])
}
