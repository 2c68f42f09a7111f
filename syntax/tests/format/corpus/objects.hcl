a={}
b={   }
c={x=1}
d={x=1,y=2}
e={ x : 1, "y":2, (z) = 3 }
f={
x=1
long_name=2,
"quoted key"   =   3
(var.computed)=4
colon:5
longer_colon   :6
}
