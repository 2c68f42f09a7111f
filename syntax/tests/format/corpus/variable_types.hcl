variable "a" {
type="string"
}
variable "b" {
type="list"
}
variable "c" {
type="map"
}
variable "d" {
type=list
}
variable "e" {
type=map
}
variable "f" {
type=set
}
variable "g" {
type = "number"
}
variable "h" {
type = "${string}"
default = "${string}"
}
variable "i" {
type = object({
a=string
bbb=optional(list(  string  ),[])
})
nested {
type = "string"
}
}
variable j {
type = string
}
output "k" {
type = "string"
type2 = list
}
type = "string"
variable "l" {
type = "set"
}
