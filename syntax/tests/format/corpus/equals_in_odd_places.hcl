a = {for k, v in m : k => v
}
b = [for x in y : x == 1
]
c = {
(a == b) = 1
"a=b" = 2
}
d = [{x = 1}, {yy = 2},
{x = 1}, {yyyyy = 2},
{xxx = 1}, {yy = 2},
]
