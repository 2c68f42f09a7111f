resource "core_value" "x" {
  id = "mine"
}
