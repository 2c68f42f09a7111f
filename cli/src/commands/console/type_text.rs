//! Types as the console's `type` function prints them.

use std::fmt::Write;

use fleet_lang::Type;

/// A type over as many lines as it takes: one for each attribute of an object and each element of a tuple.
pub(super) fn type_text(ty: &Type) -> String {
    let mut text = String::new();
    write_type(&mut text, ty, 0);
    text
}

fn write_type(text: &mut String, ty: &Type, depth: usize) {
    match ty {
        Type::Any => text.push_str("dynamic"),
        Type::Bool | Type::Number | Type::String => {
            write!(text, "{ty}").expect("writing to a string cannot fail");
        }
        Type::List(element) => write_collection(text, "list", element, depth),
        Type::Set(element) => write_collection(text, "set", element, depth),
        Type::Map(element) => write_collection(text, "map", element, depth),
        Type::Tuple(elements) => {
            text.push_str("tuple([");
            write_lines(text, elements.iter().map(|element| ("", element)), depth);
            text.push_str("])");
        }
        Type::Object(object) => {
            text.push_str("object({");
            write_lines(text, object.attributes.iter().map(|(name, ty)| (&**name, ty)), depth);
            text.push_str("})");
        }
    }
}

fn write_collection(text: &mut String, kind: &str, element: &Type, depth: usize) {
    text.push_str(kind);
    text.push('(');
    match element {
        Type::Tuple(_) | Type::Object(_) => write_lines(text, [("", element)].into_iter(), depth),
        _ => write_type(text, element, depth),
    }
    text.push(')');
}

/// Writes each type, after its name if it has one, on a line of its own; nothing if there are none.
fn write_lines<'t>(text: &mut String, types: impl Iterator<Item = (&'t str, &'t Type)>, depth: usize) {
    const INDENT: &str = "    ";
    let mut empty = true;
    for (name, ty) in types {
        empty = false;
        text.push('\n');
        text.push_str(&INDENT.repeat(depth + 1));
        if !name.is_empty() {
            text.push_str(name);
            text.push_str(": ");
        }
        write_type(text, ty, depth + 1);
        text.push(',');
    }
    if !empty {
        text.push('\n');
        text.push_str(&INDENT.repeat(depth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_printed_as_terraform_prints_them() {
        let check = |ty: Type, expected: &str| assert_eq!(type_text(&ty), expected);
        let object = |ty: Type| Type::object([("a".into(), ty)].into());
        check(Type::Number, "number");
        check(Type::Any, "dynamic");
        check(Type::list(Type::list(Type::String)), "list(list(string))");
        check(Type::map(Type::Any), "map(dynamic)");
        check(Type::tuple([]), "tuple([])");
        check(Type::list(Type::tuple([])), "list(\n    tuple([]),\n)");
        check(object(Type::Bool), "object({\n    a: bool,\n})");
        check(
            Type::list(Type::list(object(Type::Number))),
            "list(list(\n    object({\n        a: number,\n    }),\n))",
        );
        check(
            object(Type::set(object(Type::Number))),
            "object({\n    a: set(\n        object({\n            a: number,\n        }),\n    ),\n})",
        );
        check(
            object(Type::tuple([Type::Number, Type::String])),
            "object({\n    a: tuple([\n        number,\n        string,\n    ]),\n})",
        );
    }
}
