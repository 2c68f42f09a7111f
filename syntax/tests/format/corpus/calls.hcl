a=f()
b=f( )
c=f(1)
d=f( 1,2 ,3 )
e=f (1)
f=f(g(h(1)))
g=f(a...)
h=f(a ...)
i=core::upper("x")
j=core :: upper( "x" )
k=f(
1,
2
)
l=f(1,
2,
3)
m=f({
a=1
})
n=f([
1
],{
bb=2
})
o=f(1,)
p=provider::a::b(1)
