a = f(
b ? c : d,
b
? c
: d,
)
c = [
a
+ b,
-a,
-b
]
