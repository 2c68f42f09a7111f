# Values for the variables of this directory.
site = "desk"

minis = {
  a = "10.0.0.11"
  b = "10.0.0.12"
}
