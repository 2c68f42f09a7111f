c = "file"
d = "file"
e = "file"
f = "file"
