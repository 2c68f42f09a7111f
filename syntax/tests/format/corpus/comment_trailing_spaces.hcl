a=1   # trailing   
#   spaces	 
  b  =  2  
