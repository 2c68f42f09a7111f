a=<<EOT
  untouched   =   text
     ${  var.x   }  ${var.y}
%{  if   x  }yes%{ else   }no%{   endif}
	tab
EOT
bb   =   <<-EOT
      flush
        indented ${ upper( "x" )}
      EOT
block {
c=<<EOT
body
EOT
d=<<-EOT
body
    EOT
ee=1
}
