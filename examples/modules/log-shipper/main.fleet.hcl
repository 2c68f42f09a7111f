# Sends what stands in files of a Mac to Loki. Off is a real uninstall: the daemon, its program and its positions go.

variable "enabled" {
  description = "Whether it is there; nothing of it is left otherwise"
  type        = bool
  default     = true
}

variable "program" {
  description = "The log shipper for darwin/arm64, on the machine that runs fleet"
  type        = string
}

variable "url" {
  description = "Where Loki takes what is sent"
  type        = string
}

variable "files" {
  description = "The files to send, by the names of their streams"
  type        = map(string)
}

variable "instance" {
  description = "What the host is called in the logs"
  type        = string
}

variable "env" {
  description = "The environment that the host belongs to"
  type        = string
  default     = "production"
}

locals {
  there = var.enabled ? 1 : 0
}

resource "macos_signed_binary" "this" {
  count         = local.there
  path          = "/usr/local/bin/log-shipper"
  source        = var.program
  source_sha256 = filesha256(var.program)
}

# How far it has read: without it, everything would be sent once more.
resource "host_directory" "positions" {
  count = local.there
  path  = "/var/lib/log-shipper"
  mode  = "0700"
  force = true
  sudo  = true
}

resource "macos_launchd_service" "this" {
  count = local.there
  label = "dev.fleet.log-shipper"
  program_arguments = concat(
    [macos_signed_binary.this[0].path, "--url=${var.url}", "--positions=${host_directory.positions[0].path}"],
    [for name, path in var.files : "--file=${name}=${path}"],
    ["--instance=${var.instance}", "--env=${var.env}"],
  )
  stdout_path = "/var/log/log-shipper.log"
  stderr_path = "/var/log/log-shipper.log"
  restart_on  = [macos_signed_binary.this[0].cdhash]
}
