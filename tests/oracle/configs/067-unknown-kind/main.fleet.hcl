resource "nope_thing" "x" {
}
