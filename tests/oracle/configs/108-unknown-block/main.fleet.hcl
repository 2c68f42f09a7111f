thing "x" {
}
