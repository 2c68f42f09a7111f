a=1
/* one
two */ bbb=2 # x
c = 3 /* one
two */ # y
d = 4
