a{}
b{   }
c{x=1}
d "l"{x = 1   }
e   {
}
f{}
g = 1
h {x={y=1}}
