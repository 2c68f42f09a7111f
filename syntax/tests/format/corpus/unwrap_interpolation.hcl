a="${var.x}"
b="${ var.x }"
c="${var.x}${var.y}"
d="${f("${var.x}")}"
e=["${var.x}"]
f={x="${var.x}"}
g="${var.x} "
i="${
var.x
}"
j="${
var.x ?
1 :
2
}"
k="${(
var.x
)}"
l="${f(
1
)}"
m="${[for x in y : "${x}"]}"
n="${~ var.x ~}"
o="${{a=1}}"
p="%{if x}y%{endif}"
block {
q="${var.x}"
}
r = "${"literal"}"
s = "${1 + 2}" # why
