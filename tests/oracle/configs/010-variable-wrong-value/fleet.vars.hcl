n = "many"
