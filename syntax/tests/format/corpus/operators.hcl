a=1+2
b=1+2*3/4%5-6
c=a==b
d=a!=b&&c||!d
e=a<b
f=a<=b
g=a>b
h=a>=b
i=a?b:c
j=a ?b: c
k=!a
l=!  a
m=!(a)
n=!!a
o=(a+b)*c
p=((a))
q=( a )
