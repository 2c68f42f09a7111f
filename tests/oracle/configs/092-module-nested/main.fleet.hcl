module "m" {
  source = "./modules/m"
  name   = "outer"
}
output "x" { value = module.m.inner }
