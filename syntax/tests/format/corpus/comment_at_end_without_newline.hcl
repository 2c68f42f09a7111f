a=1
# no newline