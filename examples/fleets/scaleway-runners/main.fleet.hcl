# Mac minis that run CI jobs, taken from a pool that you rent from Scaleway and given back when you need them no more.
# See README.md.

variable "env" {
  description = "Which of your environments this is; part of every host's name"
  type        = string
  default     = "staging"
}

variable "size" {
  description = "How many runners there are"
  type        = number
  default     = 3
}

variable "key" {
  description = "The private key that fleet logs in with; the public one lies beside it"
  type        = string
  default     = "~/.ssh/fleet_ed25519"
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

# Whose machines these are comes from SCW_SECRET_KEY and SCW_DEFAULT_PROJECT_ID.
provider "scaleway" {}

secret "key" {
  from = "file:${var.key}"
}

# Scaleway puts the keys of the project on a machine when it is installed, and never again: so this comes first.
resource "scaleway_ssh_key" "fleet" {
  name       = "fleet-${var.env}"
  public_key = file("${var.key}.pub")
}

pool "scaleway" "minis" {
  zone      = "fr-par-1"
  prefix    = "pool-" # a machine with such a name is free
  type      = "M2-L"
  os_family = "Tahoe"
  min_free  = 1 # a plan that leaves fewer says so
  ssh_keys  = [scaleway_ssh_key.fleet]

  settle         = var.times.settle
  delay          = var.times.delay
  check_lifetime = var.times.check_lifetime
  hold           = var.times.hold
  poll           = var.times.poll

  return {
    method   = "reinstall"
    deadline = "45m"
  }
}

fleet "runners" {
  pool     = pool.minis
  size     = var.size
  hostname = "${var.env}-runner-${host.key}"

  connection "ssh" {
    user     = "m1"
    identity = secret.key
    config   = var.ssh_config
  }

  resource "host_directory" "runner" {
    path = "/Users/m1/runner"
  }

  # What the jobs on it may know of the machine that they run on.
  resource "host_file" "about" {
    path    = "${host_directory.runner.path}/about.json"
    content = "${jsonencode({ name = host.name, env = var.env, machine = host.provider_id })}\n"
  }

  resource "host_block" "profile" {
    path    = "/Users/m1/.zshenv"
    name    = "fleet"
    content = "export FLEET_ENV=${var.env}"
  }
}

output "runners" {
  description = "The runners, and where they are"
  value       = { for slot in fleet.runners : slot.host.name => slot.host.address }
}
