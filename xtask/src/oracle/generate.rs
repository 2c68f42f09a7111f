//! Random expressions over the operators and the function table: most are well typed, some are not.

use std::fmt;

use fastrand::Rng;
use fleet_lang::functions::{Function, Param, ParamType, Returns, all};

use super::pools;

/// How deep expressions nest at most.
const DEPTH: usize = 4;

/// What nobody can know before: time, chance, and this machine's paths.
const NOT_COMPARED: &[&str] =
    &["abspath", "bcrypt", "pathexpand", "plantimestamp", "timestamp", "uuid", "rsadecrypt", "base64gzip"];

/// What takes only a reference, and so would fail here always.
const NEVER_WORKS: &[&str] = &["templatestring"];

/// An expression as pieces of text with expressions between them.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    /// One more than there are children.
    pieces: Vec<String>,
    pub(super) children: Vec<Expression>,
}

/// What an expression should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Any,
    Bool,
    Number,
    String,
    Sequence,
    Set,
    Mapping,
}

/// Random expressions; with a name, calls of that function only.
pub(super) fn expressions(seed: u64, count: usize, function: Option<&str>) -> Vec<Expression> {
    let mut generator = Generator { rng: Rng::with_seed(seed), names: Vec::new() };
    let mut next = || match function.and_then(fleet_lang::functions::function) {
        Some(function) => generator.call(function, DEPTH - 1),
        None => generator.expression(Shape::Any, DEPTH),
    };
    (0..count).map(|_| next()).collect()
}

impl Expression {
    pub(super) fn new(pieces: &[&str], children: Vec<Expression>) -> Expression {
        debug_assert_eq!(pieces.len(), children.len() + 1, "pieces stand around children");
        Expression { pieces: pieces.iter().map(ToString::to_string).collect(), children }
    }

    pub(super) fn leaf(text: &str) -> Expression {
        Expression::new(&[text], Vec::new())
    }

    /// How much there is to it; a plain value is 1.
    pub(super) fn size(&self) -> usize {
        let own = if self.children.is_empty() { 1 } else { 2 };
        own + self.children.iter().map(Expression::size).sum::<usize>()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pieces[0])?;
        for (child, piece) in self.children.iter().zip(&self.pieces[1..]) {
            write!(f, "{child}{piece}")?;
        }
        Ok(())
    }
}

struct Generator {
    rng: Rng,
    /// The names that `for` gives at this place.
    names: Vec<String>,
}

impl Generator {
    fn expression(&mut self, shape: Shape, depth: usize) -> Expression {
        let shape = if self.rng.u8(..100) < 3 { self.shape() } else { shape };
        if depth == 0 {
            return self.leaf(shape);
        }
        match self.rng.u8(..100) {
            0..30 => self.leaf(shape),
            30..65 => match self.function(shape) {
                Some(function) => self.call(function, depth - 1),
                None => self.structure(shape, depth - 1),
            },
            65..82 => self.operation(shape, depth - 1),
            _ => self.structure(shape, depth - 1),
        }
    }

    fn shape(&mut self) -> Shape {
        use Shape::{Bool, Mapping, Number, Sequence, Set, String};
        self.pick(&[Bool, Number, Number, String, String, Sequence, Sequence, Set, Mapping])
    }

    fn leaf(&mut self, shape: Shape) -> Expression {
        if !self.names.is_empty() && self.rng.u8(..100) < 30 {
            let place = self.rng.usize(..self.names.len());
            return Expression::leaf(&self.names[place].clone());
        }
        if self.rng.u8(..100) < 3 {
            return Expression::leaf("null");
        }
        let pool = match shape {
            Shape::Any => {
                let shape = self.shape();
                return self.leaf(shape);
            }
            Shape::Bool => pools::BOOLS,
            Shape::Number => pools::NUMBERS,
            Shape::String => pools::STRINGS,
            Shape::Sequence => pools::SEQUENCES,
            Shape::Set => pools::SETS,
            Shape::Mapping => pools::MAPPINGS,
        };
        Expression::leaf(self.pick(pool))
    }

    /// A function whose result has the shape, as far as the table says.
    fn function(&mut self, shape: Shape) -> Option<&'static Function> {
        let fits = |function: &&Function| {
            let result = match function.returns {
                Returns::Always(ty) => of_type(ty),
                Returns::Depends(_) => result(function.name),
            };
            !NOT_COMPARED.contains(&function.name)
                && !NEVER_WORKS.contains(&function.name)
                && (shape == Shape::Any || result == shape)
        };
        let fitting: Vec<&'static Function> = all().filter(fits).collect();
        (!fitting.is_empty()).then(|| fitting[self.rng.usize(..fitting.len())])
    }

    fn call(&mut self, function: &'static Function, depth: usize) -> Expression {
        let more = if function.variadic.is_some() { self.rng.usize(..4) } else { 0 };
        let rest = std::iter::repeat_n(function.variadic, more).flatten();
        let mut params: Vec<Param> = function.params.iter().copied().chain(rest).collect();
        if self.rng.u8(..100) < 3 {
            params.pop();
        }
        let args: Vec<Expression> = params
            .iter()
            .enumerate()
            .map(|(place, param)| self.argument(function, place, *param, depth))
            .collect();
        let spread = if !args.is_empty() && self.rng.u8(..100) < 3 { "...)" } else { ")" };
        enclosed(&format!("{}(", function.name), args, spread)
    }

    fn argument(&mut self, function: &Function, place: usize, param: Param, depth: usize) -> Expression {
        if let Some(pool) = pools::hint(function.name, place)
            && self.rng.u8(..100) < 75
        {
            return Expression::leaf(self.pick(pool));
        }
        let shape = match of_type(param.ty) {
            Shape::Any => wanted(function.name, place),
            shape => shape,
        };
        self.expression(shape, depth)
    }

    fn operation(&mut self, shape: Shape, depth: usize) -> Expression {
        use Shape::{Any, Bool, Number, String};
        let (operand, operators): (Shape, &[&str]) = match shape {
            Bool => match self.rng.u8(..4) {
                0 => (Bool, &["&&", "||"]),
                1 => (Number, &["<", "<=", ">", ">="]),
                2 => return Expression::new(&["!(", ")"], vec![self.expression(Bool, depth)]),
                _ => (Any, &["==", "!="]),
            },
            Number | Any => match self.rng.u8(..6) {
                0 => return Expression::new(&["-(", ")"], vec![self.expression(Number, depth)]),
                1 => (Any, &["==", "!="]),
                _ => (Number, &["+", "-", "*", "/", "%"]),
            },
            String => {
                let children = vec![self.expression(String, depth), self.expression(Any, depth)];
                let (open, close) = self.pick(&[("${", "}"), ("${~ ", " ~}")]);
                let (first, last) = (format!("\"x {open}"), format!("{close} y\""));
                return Expression::new(&[&first, &format!("{close} - {open}"), &last], children);
            }
            _ => return self.structure(shape, depth),
        };
        let operator = format!(") {} (", self.pick(operators));
        let operands = vec![self.expression(operand, depth), self.expression(operand, depth)];
        Expression::new(&["(", &operator, ")"], operands)
    }

    fn structure(&mut self, shape: Shape, depth: usize) -> Expression {
        match self.rng.u8(..8) {
            0 | 1 => {
                let branches = [Shape::Bool, shape, shape].map(|shape| self.expression(shape, depth));
                Expression::new(&["(", " ? ", " : ", ")"], branches.into())
            }
            2 => self.repetition(shape, depth),
            3 => {
                let parts = vec![self.expression(Shape::Sequence, depth), self.expression(Shape::Number, 0)];
                Expression::new(&["", "[", "]"], parts)
            }
            4 => {
                let splat = self.pick(&["[*]", ".*", "[*].a", ".a", ".b.c", "[\"a\"]", "[0]"]);
                Expression::new(&["", splat], vec![self.expression(Shape::Any, depth)])
            }
            5 => {
                let count = self.rng.usize(..4);
                let parts = (0..count).map(|_| self.expression(Shape::Any, depth)).collect();
                enclosed("[", parts, "]")
            }
            6 => {
                let parts = vec![self.expression(Shape::Any, depth), self.expression(Shape::Any, depth)];
                Expression::new(&["{ a = ", ", \"b c\" = ", " }"], parts)
            }
            _ => {
                let known = [Shape::Sequence, Shape::Mapping, Shape::Set, Shape::Number, Shape::String];
                let shape = if known.contains(&shape) { shape } else { self.shape() };
                let convert = match shape {
                    Shape::Sequence => "tolist(",
                    Shape::Mapping => "tomap(",
                    Shape::Set => "toset(",
                    Shape::Number => "tonumber(",
                    _ => "tostring(",
                };
                Expression::new(&[convert, ")"], vec![self.expression(shape, depth)])
            }
        }
    }

    /// A `for`, whose body may use its names.
    fn repetition(&mut self, shape: Shape, depth: usize) -> Expression {
        let from = self.pick(&[Shape::Sequence, Shape::Set, Shape::Mapping]);
        let source = self.expression(from, depth);
        self.names.extend(["k".to_owned(), "v".to_owned()]);
        let body = self.expression(Shape::Any, depth);
        let test = self.expression(Shape::Bool, depth.saturating_sub(1));
        let key = self.expression(Shape::String, depth.saturating_sub(1));
        self.names.truncate(self.names.len() - 2);
        match (shape, self.rng.bool()) {
            (Shape::Mapping, false) => {
                Expression::new(&["{ for k, v in ", " : ", " => ", "... }"], vec![source, key, body])
            }
            (Shape::Mapping, true) => {
                Expression::new(&["{ for k, v in ", " : k => ", " if ", " }"], vec![source, body, test])
            }
            (_, false) => Expression::new(&["[for k, v in ", " : ", "]"], vec![source, body]),
            (_, true) => Expression::new(&["[for k, v in ", " : ", " if ", "]"], vec![source, body, test]),
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }
}

/// Expressions between brackets, with commas.
fn enclosed(open: &str, children: Vec<Expression>, close: &str) -> Expression {
    if children.is_empty() {
        return Expression::leaf(&format!("{open}{}", close.trim_start_matches('.')));
    }
    let mut pieces = vec![", "; children.len() + 1];
    pieces[0] = open;
    pieces[children.len()] = close;
    Expression::new(&pieces, children)
}

/// What a function mostly makes, where the table says that it depends.
fn result(function: &str) -> Shape {
    match function {
        "chunklist" | "coalescelist" | "concat" | "distinct" | "flatten" | "keys" | "matchkeys" | "range"
        | "regexall" | "reverse" | "slice" | "tolist" | "values" => Shape::Sequence,
        "setintersection" | "setproduct" | "setsubtract" | "setunion" | "toset" => Shape::Set,
        "merge" | "tomap" | "transpose" | "zipmap" => Shape::Mapping,
        _ => Shape::Any,
    }
}

/// What a parameter of any type is good for.
fn wanted(function: &str, place: usize) -> Shape {
    match (function, place) {
        ("chunklist" | "contains" | "distinct" | "element" | "index" | "matchkeys" | "one" | "slice", 0)
        | (
            "coalescelist" | "concat" | "flatten" | "length" | "reverse" | "setproduct" | "sum" | "tolist"
            | "toset",
            _,
        )
        | ("join", 1..)
        | ("zipmap", 1) => Shape::Sequence,
        ("keys" | "merge" | "tomap" | "values", _) | ("lookup" | "templatefile", 0 | 1) => Shape::Mapping,
        ("tobool", _) => Shape::Bool,
        ("tonumber", _) => Shape::Number,
        ("tostring", _) => Shape::String,
        _ => Shape::Any,
    }
}

fn of_type(ty: ParamType) -> Shape {
    match ty {
        ParamType::Any => Shape::Any,
        ParamType::Bool => Shape::Bool,
        ParamType::Number => Shape::Number,
        ParamType::String => Shape::String,
        ParamType::List(_) => Shape::Sequence,
        ParamType::Set(_) => Shape::Set,
        ParamType::Map(_) => Shape::Mapping,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_it_all() {
        let texts = |seed| expressions(seed, 50, None).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(7), texts(7));
        assert_ne!(texts(7), texts(8));
    }

    #[test]
    fn one_function_can_be_looked_at_alone() {
        assert!(expressions(1, 20, Some("max")).iter().all(|e| e.to_string().starts_with("max(")));
    }
}
