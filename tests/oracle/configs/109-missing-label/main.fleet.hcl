resource "core_value" {
}
