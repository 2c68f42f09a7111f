a = b[true]
c = b[ null ]
d = a.0 .1
e = a . 0 . b
