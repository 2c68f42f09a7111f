a=1
bbb=2   # x

block {
c=3
}
d=<<EOT
  x
EOT
e=[
1
]
