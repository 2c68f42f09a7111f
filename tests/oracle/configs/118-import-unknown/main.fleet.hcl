import {
  to = core_value.nope
  id = "x"
}
