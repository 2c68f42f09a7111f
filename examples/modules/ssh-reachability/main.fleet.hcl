# Lets people in again over SSH when scanners have filled the backlog of the port: a daemon that knocks every minute, and takes
# sshd out and puts it back when nobody answers.

variable "label" {
  description = "The name by which launchd knows the daemon"
  type        = string
  default     = "dev.fleet.ssh-reachability"
}

variable "interval" {
  description = "After how many seconds it knocks again"
  type        = number
  default     = 60
}

variable "bin" {
  description = "A directory for its program that is there; without it, /usr/local/bin is made"
  type        = string
  default     = null
}

# A new Mac has no such directory.
resource "host_directory" "bin" {
  count = var.bin == null ? 1 : 0
  path  = "/usr/local/bin"
  sudo  = true
}

resource "host_file" "script" {
  path    = "${try(host_directory.bin[0].path, var.bin)}/ssh-reachability"
  content = file("${path.module}/ssh-reachability.sh")
  mode    = "0755"
  sudo    = true
}

resource "macos_launchd_service" "this" {
  label             = var.label
  program_arguments = [host_file.script.path]
  start_interval    = var.interval
  keep_alive        = false
  stderr_path       = "/var/log/ssh-reachability.log"
  restart_on        = [sha256(host_file.script.content)]
}

output "label" {
  description = "The name by which launchd knows the daemon"
  value       = macos_launchd_service.this.label
}
