//! `moved`, `removed` and `import` blocks.

use crate::site::check_blocks;

#[test]
fn what_moves_must_be_gone_and_alike() {
    check_blocks(
        r#"
        resource "core_value" "new" {}
        resource "core_value" "stays" { count = 2 }
        moved {
          from = core_value.old
          to   = core_value.new
        }
        moved {
          from = core_value.stays[5]
          to   = core_value.stays[1]
        }
        moved {
          from = core_value.stays
          to   = core_value.elsewhere
        }
        moved {
          from = module.a
          to   = core_value.new
        }
        moved {
          from = data.core_value.a
          to   = core_value.new
        }
        moved {
          from = core_value.x
          to   = cloud_key.x
        }
        moved {
          from = core_value.y
          to   = core_value.y
        }
        moved {
          from = "text"
          to   = core_value.y
        }
        "#,
        &[
            "main:33:18 not a plain reference",
            "main:13:18 moved but still declared",
            "main:18:18 move between unlike things",
            "main:21:18 nothing to move",
            "main:26:18 move to another kind",
            "main:30:18 move to the same place",
        ],
    );
}

#[test]
fn moves_lead_somewhere() {
    check_blocks(
        r#"
        moved {
          from = core_value.a
          to   = core_value.b
        }
        moved {
          from = core_value.b
          to   = core_value.a
        }
        moved {
          from = core_value.b
          to   = core_value.c
        }
        moved {
          from = core_value.d
          to   = core_value.a
        }
        "#,
        &["main:2:9 moves in a circle", "main:11:18 moved twice"],
    );
}

#[test]
fn what_is_removed_must_be_gone_and_what_is_imported_must_be_there() {
    check_blocks(
        r#"
        resource "core_value" "here" { for_each = toset(["a"]) }
        removed { from = core_value.here }
        removed { from = core_value.gone }
        removed { from = core_value.gone[0] }
        import {
          for_each = toset(["a"])
          to       = core_value.here[each.key]
          id       = each.value
        }
        import {
          to = core_value.gone
          id = "x"
        }
        "#,
        &[
            "main:3:26 removed but still declared",
            "main:5:26 instance key in `removed`",
            "main:12:16 import into nothing",
        ],
    );
}
