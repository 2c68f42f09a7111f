hosts = {
  a = {}
  b = { cpu = "4", nets = [], meta = {} }
  c = { meta = { owner = "me", extra = 1 } }
}
