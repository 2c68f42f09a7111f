resource "core_value" "x" {
  input = count.index
}
