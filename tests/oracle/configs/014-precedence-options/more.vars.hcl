a = "more"
b = "more"
