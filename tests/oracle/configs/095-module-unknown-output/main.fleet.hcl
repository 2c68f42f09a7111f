module "m" {
  source = "./modules/m"
  name   = "a"
}
output "x" {
  value = module.m.nope
}
