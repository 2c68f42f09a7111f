a="${"${"${var.x}"}"}"
b="${ # why
x}"
c="${x # why
}"
d="${(x)
+ (y)}"
e="${/* why */ "${x}"}"
block { f = "${<<EOT
text
EOT
}" }
g = "${
  # above
  x
  # below
}"
