a=[for x in(y):x if(z)]
b=[for x in y:x if[true][0]]
c="%{if(x)}y%{endif}"
