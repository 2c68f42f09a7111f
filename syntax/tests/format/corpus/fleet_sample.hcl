settings {
  required_version = ">= 0.1"
  backend "sqlite" { path = ".fleet/state.db" }
}
variable "env" {
  type = string
}
secret "scaleway"  { from = "env:SCW_SECRET_KEY" }
pool "scaleway" "minis" {
  zone      = "fr-par-1"
  prefix    = "pool-"                       # a free host's name starts with it
  ssh_keys  = [scaleway_ssh_key.fleet]      # must be there before a host is claimed
  return {
    method   = "reinstall"                  # or "scrub"
    deadline = "45m"
  }
}
fleet "runners" {
  pool     = pool.minis
  size     = 3                                     # keys
  hostname = "${var.env}-runners-${host.key}"      # ONE name

  resource "macos_pf_anchor" "egress" {
    tables = { vm_sources = ["192.168.64.0/22"], blocked_dst = ["10.0.0.0/8", "172.16.0.0/12"] }
    rules  = ["block drop out quick from <vm_sources> to <blocked_dst>"]
  }
  module "node" {                                  # inherits the host
    source      = "./modules/tart-kubelet"
    provider_id = host.provider_id
  }
}
output "addresses" { value = fleet.runners[*].host.address }
