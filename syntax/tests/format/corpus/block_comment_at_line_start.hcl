/* a */ a = 1
/* b */
/* c */ bbb = 2
d = 1 /* multi
line */
e = /* x */ 1

    /* multi
line */ c = 3

block {
      /* multi
   line
*/
f = 1
}
