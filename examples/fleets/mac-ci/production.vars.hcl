env         = "production"
sizes       = { macos = 2, runners = 9, builders = 2 }
reaches     = { private_network = "172.16.0.0/22" }
cache       = { quota_gib = 80, cap_gib = 20, cas_gib = 11 }
ssh_allowed = ["198.51.100.0/24"]
