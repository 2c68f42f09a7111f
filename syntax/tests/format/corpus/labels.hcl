resource a b {
}
resource   "a"    b{
}
resource "a" "b"{}
x "a b" "c\"d" "é" {
y z "q" {
}
}
