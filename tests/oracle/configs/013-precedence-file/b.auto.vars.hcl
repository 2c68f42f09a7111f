e = "auto b"
f = "auto b"
