a=1
bbbb=2
block {
x=1
yyy=2
}
cc=3
