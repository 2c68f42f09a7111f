module "m" {
  source = "./modules/m"
  n      = 1
}
