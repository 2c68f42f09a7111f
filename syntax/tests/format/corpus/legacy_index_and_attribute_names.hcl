a-b=1
a_b-c=2
for=3
in = 4
if = for
null_x = null
t = true
f= false
