resource "core_value" "x" {
}
resource "core_value" "x" {
}
