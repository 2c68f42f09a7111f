a=(
1+
2
)
b=(a
&&b
||c)
c=(
a?
b:
c
)
d = (
  var.x
  ? {
  a = 1
  }
  : {
  b = 2
  }
)
