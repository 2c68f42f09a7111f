resource "a" "one" {
  x =        #! expected a value, found the end of the line
  y = [1, 2  #! unclosed `[`
  z = 3
}

resource "b" "two" {
  s = "no end  #! unclosed string
  t = 1 +      #! expected a value, found the end of the line
  u = 5 5      #! expected the end of the line after an argument, found `5`
  v = "ok"
}

resource "c" "three" {
  nested {     #! unclosed block
    a = 1

}

resource "d" "four" {
  v = "${foo   #! unclosed `${`
  w = 1
}

variable "v {  #! unclosed string
  type = string
}

output "o" {
  value = upper("a"  #! unclosed `(`
}

locals {
  m = {
    a = 1
    b 2      #! expected `=` after the key, found `2`
    c = 'x'  #! unexpected quotation mark `'`
    d = [1 2, 3 4]  #! expected `,` or `]`, found `2` ## expected `,` or `]`, found `4`
    e = 5
  }
  n = a & b   #! unexpected `&`
  m = 1       #! `m` is set twice
  q = <<EOT   #! text after the marker of a heredoc
text
EOT
}

check "heredoc" {
  q = <<TEXT
  #^ unclosed heredoc
  TEXX
}

module "last" {
  source = "./x"
}
