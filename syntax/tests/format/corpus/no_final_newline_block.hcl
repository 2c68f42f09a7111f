block {
a=1
}