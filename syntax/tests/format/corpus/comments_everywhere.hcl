# leading

   # indented
   // slashes
/* block
     over lines
  */
a /* 1 */ = /* 2 */ 1 /* 3 */ + /* 4 */ 2 /* 5 */ # 6
/* before */ b = 2
c = [ /* empty */ ]
d = { /* empty */ }
e = f(/* none */)
g = f( # why
1, # one
# alone
2 /* two */, /* three */ 3
# last
)
block /* label follows */ {
# only a comment
}
block { /* inline */ }
