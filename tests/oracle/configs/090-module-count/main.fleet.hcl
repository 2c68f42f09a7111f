module "m" {
  source = "./modules/m"
  count  = 2
  name   = "n${count.index}"
  size   = count.index
}
output "all" { value = module.m[*].text }
output "last" { value = module.m[1].text }
