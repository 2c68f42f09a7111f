locals {
  a = tonumber("x")
}
