variable "o" {
  type = object({
    name = string
    size = optional(number, 3)
    tags = optional(map(string), {})
    note = optional(string)
  })
  default = { name = "x", extra = true, size = null }
}
output "o" { value = var.o }
