output "list" { value = tolist([1, 2]) }
output "set" { value = toset(["b", "a"]) }
output "map" { value = tomap({ a = "x" }) }
output "object" { value = { a = [true], "b c" = { d = 1.5 } } }
output "number" { value = 1e30 }
output "text" {
  value       = "two\nlines"
  description = "A text."
}
