# Two Mac minis that you own: on a desk or in a rack, reached over SSH. See README.md.

variable "admins" {
  description = "Public keys of the people who may log in"
  type        = list(string)

  validation {
    condition     = length(var.admins) > 0
    error_message = "Without a key nobody could log in any more."
  }
}

# The key that fleet logs in with. It stays in the file that it is in: fleet serves it from memory.
secret "fleet_key" {
  from = "file:~/.ssh/fleet_ed25519"
}

# The machines. Each is held by at most one fleet: a ledger on the machine itself says by which.
pool "static" "desk" {
  host "mini-a" {
    address = "10.0.0.11"
  }
  host "mini-b" {
    # Tried in this order: by its name in the local network, then by its number.
    addresses = ["mini-b.local", "10.0.0.12"]
  }
}

fleet "desk" {
  pool     = pool.desk
  hosts    = ["mini-a", "mini-b"]
  hostname = "desk-${host.key}"

  connection "ssh" {
    user     = "admin"
    identity = secret.fleet_key
  }

  # What every Mac has. A module that is called in a fleet is there once for each host.
  module "baseline" {
    source = "./modules/baseline"
    admins = var.admins
    name   = host.name
  }

  # A program of ours, sent only where it differs.
  resource "host_binary" "tidy" {
    path          = "/usr/local/bin/tidy-builds"
    source        = "${path.module}/bin/tidy-builds"
    source_sha256 = filesha256("${path.module}/bin/tidy-builds")
    sudo          = true
    depends_on    = [module.baseline]
  }

  # Every night, launchd runs it.
  resource "host_file" "tidy" {
    path = "/Library/LaunchDaemons/fleet.tidy-builds.plist"
    sudo = true
    content = templatefile("${path.module}/tidy-builds.plist.tpl", {
      program = host_binary.tidy.path
      hour    = 3
    })
  }
}

output "hosts" {
  description = "The Macs, and where they answered"
  value       = { for key, slot in fleet.desk : key => slot.host.address }
}
