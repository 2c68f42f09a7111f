# One Linux machine beside the Macs: a cache for builds. See README.md.

variable "address" {
  description = "Where the box is: a name or an address"
  type        = string
  default     = "10.0.0.20"
}

variable "cache_gb" {
  description = "How much the cache may hold"
  type        = number
  default     = 200
}

# Its key is known already, so that not even the first connection takes anything on trust.
variable "host_key" {
  description = "The line of /etc/ssh/ssh_host_ed25519_key.pub on the box; null takes the first that it shows"
  type        = string
  default     = null
}

pool "static" "boxes" {
  host "cache" {
    address  = var.address
    host_key = var.host_key
  }
}

fleet "cache" {
  pool     = pool.boxes
  hosts    = ["cache"]
  hostname = "build-${host.key}"

  # User, keys and hosts on the way are as your own `~/.ssh/config` has them.
  connection "ssh" {}

  # What the box is, for what depends on it.
  data "host_facts" "this" {}

  module "layout" {
    source  = "./modules/service"
    name    = "build-cache"
    release = "1.4.0"
  }

  resource "host_file" "settings" {
    path    = "${module.layout.etc}/settings.json"
    content = "${jsonencode({ max_gb = var.cache_gb, name = host.name, arch = data.host_facts.this.arch })}\n"
    sudo    = true
  }

  # The kernel reads it at its next start; `sysctl` says what it uses now.
  resource "host_file" "sysctl" {
    path    = "/etc/sysctl.d/50-build-cache.conf"
    content = "vm.swappiness = 10\n"
    sudo    = true
  }

  resource "host_line" "nofile" {
    path     = "/etc/security/limits.conf"
    line     = "* soft nofile 65536"
    matching = "\\*\\s+soft\\s+nofile\\s.*"
    sudo     = true
  }
}

output "settings" {
  value = fleet.cache["cache"].host_file.settings.path
}
