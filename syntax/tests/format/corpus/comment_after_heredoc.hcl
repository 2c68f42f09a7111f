a = 1 # one
b = <<EOT
text
EOT
c = 2 # two
