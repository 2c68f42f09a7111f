# Where a service of our own lives: a directory for each release, and a link to the one in use.

variable "name" {
  type = string
}

variable "release" {
  type = string
}

resource "host_directory" "home" {
  path = "/opt/${var.name}"
  sudo = true
}

resource "host_directory" "release" {
  path = "${host_directory.home.path}/${var.release}"
  sudo = true
}

# Another release is another directory; the link moves to it in one step.
resource "host_link" "current" {
  path   = "${host_directory.home.path}/current"
  target = basename(host_directory.release.path)
  sudo   = true
}

resource "host_directory" "etc" {
  path = "/etc/${var.name}"
  mode = "0750"
  sudo = true
}

output "current" {
  value = host_link.current.path
}

output "etc" {
  value = host_directory.etc.path
}
