# A runner of GitHub Actions for one job: it comes, runs that job in a directory of its own, and is gone. See README.md.

variable "configuration" {
  description = "What it is started with: a secret `jit-config:` of the provider `github`"
  type        = string
  sensitive   = true
}

variable "runner" {
  description = "The archive of the agent: where it lies on the machine that runs fleet, its SHA-256"
  type        = object({ source = string, sha256 = string })
}

variable "user" {
  description = "Who runs the job"
  type        = string
  default     = "m1"
}

variable "label" {
  description = "The name by which launchd knows it"
  type        = string
  default     = "dev.fleet.jit-runner"
}

variable "directory" {
  description = "Where it lies"
  type        = string
  default     = "/opt/jit-runner"
}

variable "interval" {
  description = "After how many seconds it looks again whether there is a configuration"
  type        = number
  default     = 10
}

# What a job leaves there goes with it.
resource "host_directory" "this" {
  path  = var.directory
  owner = var.user
  group = "staff"
  force = true
  sudo  = true
}

resource "host_archive" "agent" {
  path          = "${host_directory.this.path}/agent"
  source        = var.runner.source
  source_sha256 = var.runner.sha256
  sudo          = true
}

resource "host_file" "script" {
  path    = "${host_directory.this.path}/run-one-job"
  content = file("${path.module}/run-one-job.sh")
  mode    = "0755"
  sudo    = true
}

# It is gone when its job is done, and the next apply asks GitHub for another.
resource "host_file" "configuration" {
  path    = "${host_directory.this.path}/configuration"
  content = var.configuration
  mode    = "0600"
  owner   = var.user
  group   = "staff"
  sudo    = true
}

resource "macos_launchd_service" "this" {
  label             = var.label
  user              = var.user
  program_arguments = [host_file.script.path]
  run_at_load       = false
  keep_alive        = false
  start_interval    = var.interval
  throttle_interval = var.interval
  restart_on        = [sha256(host_file.script.content)]

  # What goes first is who uses the rest.
  depends_on = [host_archive.agent, host_file.configuration]
}
