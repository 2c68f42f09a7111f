env         = "staging"
sizes       = { macos = 1, runners = 1, builders = 0 }
reaches     = { services = "10.128.0.0/12", names = "10.128.0.10", private_network = "172.16.0.0/22" }
cache       = { quota_gib = 40, cap_gib = 28, cas_gib = 16 }
ssh_allowed = ["198.51.100.0/24"]
