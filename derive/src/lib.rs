//! `#[derive(Schema)]`: a kind's struct → its schema, and its way to and from values.
//!
//! The doc comments of struct and fields are the manual. A field is required unless its type is `Option` or it has a
//! default. `#[fleet(...)]` on a field says the rest:
//!
//! - `replace`: a change needs a new object
//! - `secret`: never shown
//! - `write_only`: sent, but never stored or read back
//! - `told_once`: a computed value that is told when the thing is made, and never again
//! - `internal`: of no use to people, and not shown in plans
//! - `default = expression`: what an omitted argument is reset to
//! - `required`: an `Option` that the user must give; `None` then only means that reality has no such value
//! - `computed`: reality alone gives it; the type must be `Option`
//! - `optional_computed`: the user may give it, otherwise reality does; the type must be `Option`
//! - `follows = "other"`: a computed value that may change when that argument changes; may be said of several
//! - `copies = "other"`: a computed value that equals that argument

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, Meta, Result, Token, Type,
};

/// Derives `fleet_engine::attributes::Attributes` from a struct with named fields.
#[proc_macro_derive(Schema, attributes(fleet))]
pub fn derive_schema(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// What `#[fleet(...)]` and the type of a field say.
struct Column<'a> {
    field: &'a Field,
    name: String,
    presence: &'static str,
    default: Option<Expr>,
    follows: Vec<String>,
    copies: Option<String>,
    replace: bool,
    secret: bool,
    write_only: bool,
    told_once: bool,
    internal: bool,
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a schema is derived from a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&input.ident, "a schema needs named fields"));
    };
    let columns = fields.named.iter().map(Column::of).collect::<Result<Vec<_>>>()?;
    for column in &columns {
        column.check_names(&columns)?;
    }
    let (ident, doc) = (&input.ident, doc_of(&input.attrs));
    let attributes = columns.iter().map(Column::schema);
    // In the order of their names, as objects keep them.
    let mut sorted: Vec<&Column<'_>> = columns.iter().collect();
    sorted.sort_by_key(|column| &column.name);
    let (n_columns, names) = (sorted.len(), sorted.iter().map(|column| &column.name));
    let to_value = sorted.iter().enumerate().map(|(at, column)| {
        let ident = &column.field.ident;
        quote! { (NAMES[#at].clone(), attributes::Field::to_value(&self.#ident)) }
    });
    let from_value = columns.iter().map(|column| {
        let (name, ident) = (&column.name, &column.field.ident);
        quote! { #ident: attributes::read(value, #name)? }
    });
    Ok(quote! {
        const _: () = {
            use ::fleet_engine::{attributes, schema};
            use ::fleet_lang::Value;
            use ::std::sync::{Arc, LazyLock};

            /// All objects share the names of their attributes.
            static NAMES: LazyLock<[Arc<str>; #n_columns]> = LazyLock::new(|| [#(#names.into()),*]);

            impl attributes::Attributes for #ident {
                fn schema() -> schema::Schema {
                    schema::Schema {
                        doc: #doc.into(),
                        attributes: [#(#attributes),*].into(),
                        blocks: ::std::default::Default::default(),
                    }
                }

                fn to_value(&self) -> Value {
                    Value::object([#(#to_value),*].into())
                }

                fn from_value(value: &Value) -> ::std::result::Result<Self, attributes::Misfit> {
                    Ok(Self { #(#from_value),* })
                }
            }
        };
    })
}

impl Column<'_> {
    fn of(field: &Field) -> Result<Column<'_>> {
        let ident = field.ident.as_ref().expect("the fields are named");
        let name = ident.to_string();
        let optional = is_option(&field.ty);
        let mut column = Column {
            field,
            name: name.strip_prefix("r#").unwrap_or(&name).to_owned(),
            presence: if optional { "Optional" } else { "Required" },
            default: None,
            follows: Vec::new(),
            copies: None,
            replace: false,
            secret: false,
            write_only: false,
            told_once: false,
            internal: false,
        };
        for attribute in field.attrs.iter().filter(|a| a.path().is_ident("fleet")) {
            for meta in attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)? {
                column.read(&meta, optional)?;
            }
        }
        Ok(column)
    }

    fn read(&mut self, meta: &Meta, optional: bool) -> Result<()> {
        let word = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
        let needs_option = |presence| {
            let message = format!("the type of a `{word}` field must be `Option`");
            if optional { Ok(presence) } else { Err(Error::new_spanned(meta, message)) }
        };
        match (word.as_str(), meta) {
            ("replace", Meta::Path(_)) => self.replace = true,
            ("secret", Meta::Path(_)) => self.secret = true,
            ("write_only", Meta::Path(_)) => self.write_only = true,
            ("told_once", Meta::Path(_)) => self.told_once = true,
            ("internal", Meta::Path(_)) => self.internal = true,
            ("required", Meta::Path(_)) => self.presence = needs_option("Required")?,
            ("computed", Meta::Path(_)) => self.presence = needs_option("Computed")?,
            ("optional_computed", Meta::Path(_)) => self.presence = needs_option("OptionalComputed")?,
            ("default", Meta::NameValue(pair)) => {
                self.presence = "Optional";
                self.default = Some(pair.value.clone());
            }
            ("follows", Meta::NameValue(pair)) => self.follows.push(text_of(&pair.value)?),
            ("copies", Meta::NameValue(pair)) => self.copies = Some(text_of(&pair.value)?),
            _ => return Err(Error::new_spanned(meta, "not known to `#[fleet(...)]`")),
        }
        Ok(())
    }

    /// Other attributes that it names must be there.
    fn check_names(&self, all: &[Column<'_>]) -> Result<()> {
        let named = self.follows.iter().chain(&self.copies);
        match named.into_iter().find(|name| !all.iter().any(|column| column.name == **name)) {
            Some(name) => Err(Error::new_spanned(self.field, format!("there is no field `{name}`"))),
            None => Ok(()),
        }
    }

    fn schema(&self) -> TokenStream {
        let Column { name, replace, secret, write_only, told_once, internal, .. } = self;
        let (ty, doc) = (&self.field.ty, doc_of(&self.field.attrs));
        let presence = syn::Ident::new(self.presence, proc_macro2::Span::call_site());
        let default = match &self.default {
            Some(value) => quote! { Some(attributes::Field::to_value(&<#ty as From<_>>::from(#value))) },
            None => quote! { None },
        };
        let copies = match &self.copies {
            Some(name) => quote! { Some(#name.into()) },
            None => quote! { None },
        };
        let follows = &self.follows;
        quote! {
            (#name.into(), schema::Attribute {
                ty: <#ty as attributes::Field>::ty(),
                presence: schema::Presence::#presence,
                default: #default,
                sensitive: #secret,
                write_only: #write_only,
                told_once: #told_once,
                internal: #internal,
                forces_replace: #replace,
                follows: vec![#(#follows.into()),*],
                copies: #copies,
                doc: #doc.into(),
            })
        }
    }
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Option"))
}

fn doc_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => text_of(&pair.value).ok(),
        _ => None,
    });
    let lines: Vec<String> =
        lines.map(|line| line.strip_prefix(' ').map(str::to_owned).unwrap_or(line)).collect();
    lines.join("\n").trim().to_owned()
}

fn text_of(expr: &Expr) -> Result<String> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.value()),
        _ => Err(Error::new_spanned(expr, "a string is needed here")),
    }
}
