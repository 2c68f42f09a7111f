a = f(
x,
y)
resource "a" "b" {
tags=merge(local.tags,{
Name="x"
LongName="y"
},{for k,v in m:k=>v
})
count=length(var.x)>0?1:0
}
