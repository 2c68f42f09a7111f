module "m" {
  source = "./modules/m"
  name   = "a"
}
output "text" { value = module.m.text }
output "path" { value = module.m.path }
output "all" { value = module.m }
