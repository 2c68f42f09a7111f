variable "hosts" {
  type = map(object({
    cpu  = optional(number, 2)
    nets = optional(list(string), ["10.0.0.0/8"])
    meta = optional(object({ owner = optional(string, "nobody") }))
  }))
}
output "hosts" { value = var.hosts }
