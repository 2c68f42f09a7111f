a="日本語" # one
bbb="é"   # two
cccc="é" # three
d="👩‍👩‍👧" # four
e="🇩🇪" # five
f="🏳️‍🌈" # six
h="각" # eight
i = "​" # nine
block {
名前=1
é_x=2
xxxxx=3
}
