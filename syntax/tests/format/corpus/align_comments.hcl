a=1 # one
bbb="two"   // two
c   = [1,2,3] /* three */
d=4

e=5 # five
ff=66# six
