a = 2
nope = 3
