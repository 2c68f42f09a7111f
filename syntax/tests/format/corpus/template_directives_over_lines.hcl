a = "%{ if x }${ y }%{ else }${z}%{ endif }"
b = <<-EOT
    %{ if x ~}
      text
    %{ else ~}
  other ${f({
a = 1
})}
    %{ endif ~}
    EOT
c    =    1
