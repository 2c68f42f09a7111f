a = <<EOT
x ${f(
1,
2
)} y
${
z
}
%{ for x in [
1
] ~}
${x}
%{~ endfor }
EOT
b=1
