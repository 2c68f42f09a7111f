variable "a" { type = string, default = "x" }
