output "n" { value = null }
output "typed" { value = tostring(null) }
output "within" { value = [null, { a = null }] }
