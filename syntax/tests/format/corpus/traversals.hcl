a=b.c.d
b=b . c
c=b[0]
d=b [0]
e=b[ 0 ]
f=b["x"]
g=b[*].c
h=b.*.c
i=b[ * ] . c
j=b.0.c
k=b[0][1]
l=f()[0]
m=f().x
n=[1][0]
o={a=1}["a"]
p=(b)[0]
q=b[c[d]]
r=b[
0
]
