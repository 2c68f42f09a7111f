output "text" { value = file("${path.module}/text.txt") }
output "page" { value = templatefile("page.tmpl", { items = { a = 1, b = 2 } }) }
output "hash" { value = filesha256("text.txt") }
