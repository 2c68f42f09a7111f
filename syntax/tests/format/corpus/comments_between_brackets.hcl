a = [ # open
# inner
1, # one

# inner two
22 # two
] # close
b = { # open
x = 1 # one
# alone
yyyy = 22 # two
} # close
c = f( # open
1)
