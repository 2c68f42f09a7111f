locals {
  a = 1
}
variable "1x" { default = 1 }
