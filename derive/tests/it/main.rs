//! What the derive makes of a struct.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::{Attributes, Misfit};
use fleet_engine::schema::{Attribute, Presence};
use fleet_lang::{Type, Value};

/// A door.
///
/// It has two sides.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Door {
    /// Where it stands.
    #[fleet(replace)]
    room: String,
    /// How wide, in millimetres.
    #[fleet(default = 800)]
    width: i64,
    /// Its sign.
    sign: Option<String>,
    /// What opens it.
    #[fleet(secret, write_only, required)]
    code: Option<String>,
    /// Its number, given by the house.
    #[fleet(computed, follows = "room")]
    number: Option<i64>,
    /// What its sign says.
    #[fleet(computed, copies = "sign")]
    label: Option<String>,
    r#type: Option<Vec<String>>,
    labels: BTreeMap<String, bool>,
}

fn door() -> Door {
    Door {
        room: "attic".into(),
        width: 700,
        sign: None,
        code: Some("7".into()),
        number: Some(3),
        label: None,
        r#type: Some(vec!["oak".into()]),
        labels: [("open".to_owned(), true)].into(),
    }
}

#[test]
fn the_schema_says_what_the_struct_says() {
    let schema = Door::schema();
    assert_eq!(schema.doc, "A door.\n\nIt has two sides.");
    let check = |name: &str, expected: Attribute| assert_eq!(schema.attributes[name], expected, "{name}");
    let new = |ty, presence, doc: &str| Attribute { doc: doc.into(), ..Attribute::new(ty, presence) };

    let room = new(Type::String, Presence::Required, "Where it stands.");
    check("room", Attribute { forces_replace: true, ..room });
    let width = new(Type::Number, Presence::Optional, "How wide, in millimetres.");
    check("width", Attribute { default: Some(800.into()), ..width });
    check("sign", new(Type::String, Presence::Optional, "Its sign."));
    let code = new(Type::String, Presence::Required, "What opens it.");
    check("code", Attribute { sensitive: true, write_only: true, ..code });
    let number = new(Type::Number, Presence::Computed, "Its number, given by the house.");
    check("number", Attribute { follows: vec!["room".into()], ..number });
    let label = new(Type::String, Presence::Computed, "What its sign says.");
    check("label", Attribute { copies: Some("sign".into()), ..label });
    check("type", new(Type::list(Type::String), Presence::Optional, ""));
    check("labels", new(Type::map(Type::Bool), Presence::Required, ""));
    assert_eq!(schema.attributes.len(), 8);
}

#[test]
fn values_come_back_as_they_went() {
    assert_eq!(Door::from_value(&door().to_value()), Ok(door()));
    assert_eq!(door().to_value().ty(), Door::schema().ty());
}

#[test]
fn what_does_not_fit_is_named() {
    let check = |name: &str, value: Value, expected: Misfit| {
        let mut entries = door().to_value().entries().unwrap().clone();
        entries.insert(name.into(), value);
        assert_eq!(Door::from_value(&Value::object(entries)), Err(expected));
    };
    check("room", Value::null(), Misfit::new("room", "a string is needed, not null"));
    check("width", "wide".into(), Misfit::new("width", "a number is needed, not another type"));
}
