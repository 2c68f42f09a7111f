locals {
  b = "from the other file"
}
