# What differs between environments, and what is not part of the configuration. `staging.vars.hcl` and its siblings give it.

variable "env" {
  description = "Which environment this is; part of every host's name"
  type        = string
}

variable "sizes" {
  description = "How many Macs each fleet has"
  type        = object({ macos = number, runners = number, builders = number })
}

variable "reaches" {
  description = "What VMs may reach of the private networks; see modules/mac-baseline. The private network is made, with these addresses"
  type        = object({ services = optional(string), names = optional(string), private_network = optional(string) })
  default     = {}
}

variable "ssh_allowed" {
  description = "Networks that operators log in from over SSH, and that fleet runs in; the tailnet may anyway. With none of them, nobody is kept out"
  type        = list(string)
}

variable "cache" {
  description = "The volume for the caches of runners: how large it may grow, and how much of it one job may keep"
  type        = object({ quota_gib = number, cap_gib = number, cas_gib = number })
}

variable "key" {
  description = "The private key that fleet logs in with; the public one lies beside it"
  type        = string
  default     = "~/.ssh/fleet_ed25519"
}

variable "cluster" {
  description = "Where accounts of agents are; where the operator of Tailscale has its Services, and its proxies; what holds pods until their VMs are cleaned up"
  type        = object({ namespace = string, egress = string, proxy_group = string, finalizer = string })
  default = {
    namespace   = "ci"
    egress      = "tailscale-operator"
    proxy_group = "mac-egress"
    finalizer   = "example.org/vm-cleanup"
  }
}

variable "tailnet" {
  description = "The domain of the tailnet, the tags by which its policy knows these Macs, and how many tagged devices its plan of rates has"
  type        = object({ domain = string, tags = list(string), device_cap = optional(number) })
  default     = { domain = "ts.net", tags = ["tag:ci"], device_cap = 50 }
}

variable "logs" {
  description = "Where Loki takes logs"
  type        = string
  default     = "http://loki.example.ts.net:3100/loki/api/v1/push"
}

variable "github_url" {
  description = "Where builders are registered"
  type        = string
  default     = "https://github.com/example"
}

variable "programs" {
  description = "What is put on every Mac: releases as their makers publish them, and programs for darwin/arm64"
  type = object({
    tart          = object({ version = string, source = string })
    tart_kubelet  = string
    tailscale     = string
    node_exporter = optional(string)
    log_shipper   = optional(string)
  })
  default = {
    tart          = { version = "2.32.1", source = "artifacts/tart.tar.gz" }
    tart_kubelet  = "artifacts/tart-kubelet"
    tailscale     = "artifacts/tailscale.tar.gz"
    node_exporter = "artifacts/node_exporter"
    log_shipper   = "artifacts/log-shipper"
  }
}

variable "runner" {
  description = "The agent of GitHub Actions: its version, and the archive of the release"
  type        = object({ version = string, source = string })
  default     = { version = "2.336.0", source = "artifacts/actions-runner-osx-arm64.tar.gz" }
}

variable "homebrew" {
  description = "An archive of Homebrew"
  type        = string
  default     = "artifacts/homebrew.tar.gz"
}

variable "return_method" {
  description = "How a Mac is made clean before the next one has it: `reinstall`, or `scrub`"
  type        = string
  default     = "reinstall"
}

variable "ssh_config" {
  description = "The file to be read in the place of ~/.ssh/config"
  type        = string
  default     = null
}

variable "times" {
  description = "How long the vendor may lag behind, and how long fleet waits for it; see docs/pool.md"
  type = object({
    settle         = string
    delay          = string
    check_lifetime = string
    hold           = string
    poll           = string
  })
  default = {
    settle         = "30s"
    delay          = "30s"
    check_lifetime = "5s"
    hold           = "60s"
    poll           = "5s"
  }
}
