	a	=	1
block {
		bbb	=	[1,	2]	# x
		c=2		# y
	}
