module "a" {
  source     = "./modules/m"
  name       = "a"
  depends_on = [module.b]
}
module "b" {
  source = "./modules/m"
  name   = module.a.text
}
