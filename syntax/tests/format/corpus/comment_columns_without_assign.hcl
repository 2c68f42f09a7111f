x = [
1, # one
200,# two
30000   # three
]
block { # opens
a=1 # one
}       # closes
