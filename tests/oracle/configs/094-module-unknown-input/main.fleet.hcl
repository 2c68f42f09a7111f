module "m" {
  source = "./modules/m"
  name   = "a"
  nope   = 1
}
