# Every language feature that a fleet of rented minis uses, in one configuration.

settings {
  required_version = ">= 0.1"
  backend "sqlite" { path = ".fleet/state.db" }
}

variable "env" {
  type = string
}

secret "scaleway"  { from = "env:SCW_SECRET_KEY" }
secret "fleet_key" { from = "file:~/.ssh/fleet_ed25519" }
secret "tailscale" { from = "op://k8s-${var.env}/TAILSCALE/auth-key" }

provider "scaleway" {
  project_id = "11111111-2222-3333-4444-555555555555"
  secret_key = secret.scaleway
}

resource "scaleway_ssh_key" "fleet" {
  name       = "fleet-${var.env}"
  public_key = file("${path.module}/fleet.pub")
}

pool "scaleway" "minis" {
  zone      = "fr-par-1"
  prefix    = "pool-"
  type      = "M2-L"
  os_family = "Tahoe"
  ssh_keys  = [scaleway_ssh_key.fleet]
  return {
    method   = "reinstall"
    deadline = "45m"
  }
}

pool "static" "desk" {
  host "mini-a" { address = "10.0.0.11" }
  host "mini-b" { address = "10.0.0.12" }
}

fleet "runners" {
  pool     = pool.minis
  size     = 3
  hostname = "${var.env}-runners-${host.key}"

  connection "ssh" {
    user     = "m1"
    identity = secret.fleet_key
  }

  rollout {
    canary          = 1
    max_unavailable = 1
    soak            = "30s"
  }
  health {
    condition     = module.node.ready
    timeout       = "10m"
    error_message = "the Node did not become Ready"
  }

  resource "macos_hostname" "this" { name = host.name }

  resource "macos_pf_anchor" "egress" {
    name   = "ci.runners"
    tables = { vm_sources = ["192.168.64.0/22"], blocked_dst = ["10.0.0.0/8", "172.16.0.0/12"] }
    rules  = ["block drop out quick from <vm_sources> to <blocked_dst>"]
  }

  module "node" {
    source      = "./modules/tart-kubelet"
    provider_id = host.provider_id
  }
}

output "addresses" { value = fleet.runners[*].host.address }
