module "a" {
  source = "./modules/m"
  one    = 1
  two    = module.b.one
}
module "b" {
  source = "./modules/m"
  one    = module.a.one
  two    = 2
}
output "x" { value = [module.a.two, module.b.one] }
