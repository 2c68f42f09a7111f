a = [<<EOT
one
EOT
, <<EOT
two
EOT
, 3]
b = f(<<-EOT
  x
  EOT
)
c = {
k = <<EOT
v
EOT
long_key = 2
m = f(1, <<EOT
v
EOT
)
}
d = 1
