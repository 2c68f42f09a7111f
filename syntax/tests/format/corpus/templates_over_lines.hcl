a = "x ${f(
1,
2
)} y"
b = "${
var.x
} z"
c = 1
dd = 2
