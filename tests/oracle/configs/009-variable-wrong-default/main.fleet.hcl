variable "n" {
  type    = number
  default = "many"
}
