//! One small fleet at three times.
//!
//! From one to the next, things are made, changed in place, replaced in both orders, removed, released, moved and taken
//! in, some of them in a second wave.

pub(super) const FIRST: &str = r#"
resource "test_server" "base" {
  name = "base-1"
}
resource "test_server" "grows" {
  name        = "grows"
  join_token  = "one"
  password    = "one"
  description = test_server.base.id
}
resource "test_server" "swaps" {
  name        = "swaps-1"
  description = test_server.base.id
}
resource "test_server" "rolls" {
  name       = "rolls-1"
  join_token = "one"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "follows" {
  name        = "follows"
  description = test_server.rolls.id
}
resource "test_server" "again" {
  name = "again"
  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [test_server.grows.size]
  }
}
resource "test_server" "goes" {
  name = "goes"
}
resource "test_server" "goes_first" {
  name        = "goes-first"
  description = test_server.goes.id
}
resource "test_server" "left" {
  name = "left"
}
resource "test_server" "was" {
  name = "moves"
}
resource "test_server" "wave" {
  count = length(split("-", test_server.base.id))
  name  = "wave-${count.index}"
}
resource "core_file" "note" {
  path    = "note.txt"
  content = "base is ${test_server.base.id}"
}
resource "core_value" "value" {
  input = 1
}
output "base" {
  value = test_server.base.id
}
"#;

pub(super) const SECOND: &str = r#"
resource "test_server" "base" {
  name = "base-2"
}
resource "test_server" "grows" {
  name        = "grows"
  size        = 2
  join_token  = "two"
  password    = "two"
  description = test_server.base.id
}
resource "test_server" "swaps" {
  name        = "swaps-2"
  description = test_server.base.id
}
resource "test_server" "rolls" {
  name       = "rolls-2"
  join_token = "two"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "follows" {
  name        = "follows"
  description = test_server.rolls.id
}
resource "test_server" "again" {
  name = "again"
  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [test_server.grows.size]
  }
}
removed {
  from = test_server.left
  lifecycle {
    destroy = false
  }
}
moved {
  from = test_server.was
  to   = test_server.is
}
resource "test_server" "is" {
  name = "moves"
  size = 2
}
import {
  to = test_server.taken
  id = "srv-000001"
}
resource "test_server" "taken" {
  name       = "taken"
  size       = 2
  join_token = "two"
}
resource "test_server" "comes" {
  name       = "comes"
  join_token = "two"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "wave" {
  count = length(split("-", test_server.base.id))
  name  = "wave-${count.index}"
}
resource "core_file" "note" {
  path    = "note.txt"
  content = "base is ${test_server.base.id}"
}
resource "core_value" "value" {
  input = 2
}
output "base" {
  value = test_server.base.id
}
output "comes" {
  value = test_server.comes.id
}
"#;

/// Undoes some of the second, and goes further with the rest.
pub(super) const THIRD: &str = r#"
resource "test_server" "base" {
  name = "base-2"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "grows" {
  name        = "grows"
  join_token  = "one"
  password    = "one"
  description = test_server.base.id
}
resource "test_server" "swaps" {
  name        = "swaps-3"
  description = test_server.base.id
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "rolls" {
  name       = "rolls-3"
  join_token = "one"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "follows" {
  name        = "follows"
  description = test_server.rolls.id
}
resource "test_server" "again" {
  name = "again-3"
}
resource "test_server" "is" {
  name = "moves"
}
moved {
  from = test_server.was
  to   = test_server.is
}
resource "test_server" "comes" {
  name       = "comes-3"
  join_token = "one"
  lifecycle {
    create_before_destroy = true
  }
}
resource "test_server" "wave" {
  count = length(split("-", test_server.base.id))
  name  = "wave-${count.index}-3"
}
output "base" {
  value = test_server.base.id
}
"#;
