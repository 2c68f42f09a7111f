a = {
x = 1, yyy = 2
zz = 3
f(x) = 1
"${k}" = 2
"lit" = 3
a = b == c
nested = { a = 1 }
list = [1,
2]
q = 4
}
b = f(a == b, {
x=1
yy = 2
})
