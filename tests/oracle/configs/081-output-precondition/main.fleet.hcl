output "a" {
  value = 1
  precondition {
    condition     = length("ab") == 3
    error_message = "Not three."
  }
}
