a=[for x in y:x]
b=[for   k ,v   in   y :   "${k}=${v}"   if   v>1]
c={for k,v in y:k=>v}
d={for k,v in y:k=>v...if v!=null}
e=[for x in [1,2]:x]
f=[for x in {a=1}:x]
h={
for k , v in y :
k=>upper( v )
if length(v)>0
}
i=[
for x in y:{
name=x.name
long_name=x.value
}
]
j = [for in in in:in]
k = [for x in [1][0]:x]
