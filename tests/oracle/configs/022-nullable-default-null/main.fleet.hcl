variable "a" {
  default  = null
  nullable = false
}
