# Where a service of our own lives: a directory for each version, and a link to the one in use.

variable "name" {
  type = string
}

variable "version" {
  type = string
}

resource "host_directory" "versions" {
  path = "/opt/${var.name}"
  sudo = true
}

resource "host_directory" "version" {
  path = "${host_directory.versions.path}/${var.version}"
  sudo = true
}

# Another version is another directory; the link moves to it in one step.
resource "host_link" "current" {
  path   = "${host_directory.versions.path}/current"
  target = basename(host_directory.version.path)
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
