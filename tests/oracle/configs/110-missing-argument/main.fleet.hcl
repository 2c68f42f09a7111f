output "x" {
}
