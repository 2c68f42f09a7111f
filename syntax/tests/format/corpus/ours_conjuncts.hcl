a="क्षि" # one
b="é" # two
