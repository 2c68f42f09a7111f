locals {
  a = file("nope.txt")
}
