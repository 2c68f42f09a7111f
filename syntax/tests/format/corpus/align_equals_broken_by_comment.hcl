a=1
# between
bbbbbb=2
/* block */
cc=3
bb=4 // end
