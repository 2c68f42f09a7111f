d = "auto a"
e = "auto a"
f = "auto a"
