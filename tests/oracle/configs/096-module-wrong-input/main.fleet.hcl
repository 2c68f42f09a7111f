module "m" {
  source = "./modules/m"
  name   = ["a"]
}
