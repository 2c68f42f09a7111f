# What every Mac has: who may log in, how, and that it does not fall asleep.

variable "admins" {
  type = list(string)
}

variable "name" {
  type = string
}

variable "home" {
  description = "The home of the user that fleet logs in as"
  type        = string
  default     = "/Users/admin"
}

# A block in a file that others write, too: whatever else stands there stays.
resource "host_block" "admins" {
  path    = "${var.home}/.ssh/authorized_keys"
  name    = "admins"
  content = join("", [for key in var.admins : "${key}\n"])
}

# Keys only. macOS reads the files of this directory before its own settings.
resource "host_file" "sshd" {
  path    = "/etc/ssh/sshd_config.d/050-fleet.conf"
  content = "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
  sudo    = true
}

# Programs from the console may need this, and a sudo that asks would stop fleet. A mistake here locks everybody out,
# so that the file is checked before it takes its place.
resource "host_file" "sudoers" {
  path     = "/etc/sudoers.d/fleet"
  content  = "admin ALL=(ALL) NOPASSWD: ALL\n"
  mode     = "0440"
  validate = "visudo -cf {}"
  sudo     = true
}

resource "host_directory" "bin" {
  path = "/usr/local/bin"
  sudo = true
}

# What no kind knows: a script that reads, and one that changes. A plan runs the first only.
resource "host_command" "no_sleep" {
  read  = "pmset -g custom | awk '$1 == \"sleep\" { print \"sleep=\" $2 }'"
  wish  = { sleep = "0" }
  apply = "pmset -a sleep 0"
  sudo  = true
}

resource "host_file" "motd" {
  path    = "/etc/motd"
  content = "${var.name}: managed by fleet, changes made here are undone.\n"
  sudo    = true
}
