variable "count" { default = 1 }
