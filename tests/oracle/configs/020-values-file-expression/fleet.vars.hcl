a = ["x", "y${1 + 1}", upper("z")]
