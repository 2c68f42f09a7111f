# Replace this by the public keys of those who may log in: the line of `~/.ssh/id_ed25519.pub`.
admins = [
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f admin@example.org",
]
