locals {
  names = ["a", "b"]
  text  = <<-EOT
    %{ for n in local.names ~}
    name ${n}
    %{ endfor ~}
    end
  EOT
}
output "text" { value = local.text }
output "line" { value = "%{ if length(local.names) > 1 }many%{ else }one%{ endif }" }
