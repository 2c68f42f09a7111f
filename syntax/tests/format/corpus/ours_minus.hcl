a="${ - 1 } x"
b={for k,x in y:k=>-x}
c=[for x in -y:x if -x>0]
d=[
a
- b,
- c,
a -
b
]
e="%{if -x>0}y%{endif}"
f=b.*-1
g=(/* c */ - a)
h=a/* c */ - b
i = [for if in y : if - 1]
