variable "o" {
  type = list(object({
    a = optional(object({
      b = optional(string, "deep")
    }), {})
  }))
  default = [{}, { a = {} }, { a = { b = "own" } }, { a = null }]
}
output "o" { value = var.o }
