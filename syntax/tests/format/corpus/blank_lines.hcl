

a=1



b=2


block {


x=1


y=2


}


