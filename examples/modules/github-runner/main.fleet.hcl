# A Mac that builds images of VMs for GitHub Actions: Xcode, the tools of Homebrew, a cache that outlives jobs, and the runner.
#
# Labels of runners count for a whole organisation: a builder of another environment takes the jobs of this one.

variable "name" {
  description = "The name of the runner, which is that of the host"
  type        = string
}

variable "url" {
  description = "Where it is registered, such as https://github.com/example"
  type        = string
}

variable "token" {
  description = "A registration token, which GitHub gives for an hour. It is used only to register"
  type        = string
  sensitive   = true
}

variable "runner" {
  description = "The archive of the agent: its version, where it lies on the machine that runs fleet, its SHA-256"
  type        = object({ version = string, source = string, sha256 = string })
}

variable "homebrew" {
  description = "An archive of Homebrew, for Macs without it"
  type        = object({ source = string, sha256 = string })
  default     = null
}

variable "user" {
  description = "Who runs jobs: whoever is logged in at the screen"
  type        = string
  default     = "m1"
}

variable "labels" {
  type    = list(string)
  default = ["bare-metal", "macos", "vm-image-builder"]
}

variable "build_cache" {
  description = "A directory that outlives jobs, and the variable that tells them of it"
  type        = object({ path = string, variable = string })
  default     = null
}

variable "job_timeout" {
  description = "How many seconds a job is waited for when the runner goes"
  type        = number
  default     = 1800
}

resource "macos_xcode" "this" {}

resource "macos_brew" "this" {
  user          = var.user
  source        = try(var.homebrew.source, null)
  source_sha256 = try(var.homebrew.sha256, null)
  taps          = ["hashicorp/tap"]
  packages      = ["hashicorp/tap/packer", "crane", "oras"]
  pins          = ["packer"]
}

resource "host_directory" "cache" {
  for_each = { for cache in [var.build_cache] : cache.variable => cache.path if cache != null }
  path     = each.value
  owner    = var.user
  group    = "staff"
  sudo     = true
}

# The only file that shells read which nobody logged in with.
resource "host_line" "cache" {
  for_each = host_directory.cache
  path     = "/etc/zshenv"
  line     = "export ${each.key}=${each.value.path}"
  matching = "export ${each.key}=.*"
  sudo     = true
}

resource "github_runner" "this" {
  user          = var.user
  url           = var.url
  name          = var.name
  labels        = var.labels
  version       = var.runner.version
  source        = var.runner.source
  source_sha256 = var.runner.sha256
  token         = var.token
}

# GitHub sees it online. On the way out its job is waited for, and it is deregistered before it leaves the Mac.
resource "github_registration" "this" {
  url         = github_runner.this.url
  name        = github_runner.this.name
  labels      = var.labels
  job_timeout = var.job_timeout
}

output "versions" {
  description = "What Homebrew has installed"
  value       = macos_brew.this.versions
}

output "service" {
  description = "The name by which launchd knows the runner"
  value       = github_runner.this.service
}
