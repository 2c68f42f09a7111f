resource "a" "b" {
          # first
    x = 1
              # second

  # third
      nested {
  // fourth
      }
# fifth
}
