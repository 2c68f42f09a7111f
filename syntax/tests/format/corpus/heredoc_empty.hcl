a = <<EOT
EOT
b = <<-E
E
c=1
