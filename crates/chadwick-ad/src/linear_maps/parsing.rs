//! Maps from text in the notation of the paper, as [`super::printing`] writes it.
//!
//! ```text
//! map     = part {"∘" part} | part {"⊕" part} | part {"×" part} | part {"⋈" part}     one sign at a time
//! part    = "0" | "1" | "∂" name | "S(" factor ")" | ("V" | "H") "(build(" atom ", λ" name ". " map "))" | ("L" | "L'") "(λ" name ". " map ")"
//!         | "H(build(sz(" name "), λj. if " atom " = j then 1 else 0))" | "(" map ")", each followed by any number of "ᵀ"
//! factor  = atom | "(" factor ("*" | "+") factor ")" | operation "(" factor {"," factor} ")"
//! ```

use super::laws::Simplifier;
use super::maps::{Derived, Factor, Family, Map};
use super::printing::Writer;
use chadwick_core::prim::Partial;
use chadwick_core::{Atom, Axis, Const, PrimOp, Program, Var};
use std::fmt;

/// What is wrong with a text, and at which character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub message: String,
    pub at: usize,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}", self.message, self.at)
    }
}

/// A map in the notation of the paper in normal form, and the laws that were used.
///
/// ```
/// # use chadwick_ad::linear_maps::simplified_text;
/// let (text, laws) = simplified_text("(S(y) ⋈ S(x)) ∘ (∂x × 0)")?;
/// assert_eq!(text, "S(y) ∘ ∂x");
/// assert!(laws.contains(&"m ∘ 0 = 0"));
/// # Ok::<(), chadwick_ad::linear_maps::ParseError>(())
/// ```
pub fn simplified_text(text: &str) -> Result<(String, Vec<&'static str>), ParseError> {
    let (map, program) = parse(text)?;
    let mut simplifier = Simplifier::default();
    let map = simplifier.map(map);
    Ok((print(&map, &program), simplifier.used))
}

/// The text of a map whose variables have the program's names.
pub(super) fn print(map: &Map, program: &Program) -> String {
    Writer { program, text: String::new(), depth: 0, numbered: false }.map(map)
}

/// A map, and a program that has nothing but the names of its variables.
pub(super) fn parse(text: &str) -> Result<(Map, Program), ParseError> {
    let mut parser = Parser { text: text.chars().collect(), at: 0, program: Program::default() };
    let map = parser.map(0)?;
    parser.space();
    match parser.at == parser.text.len() {
        true => Ok((map, parser.program)),
        false => parser.error("the map should end here"),
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    program: Program,
}

type Parsed<T> = Result<T, ParseError>;

/// How deep maps may be nested in a text.
const DEEPEST: usize = 500;

impl Parser {
    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError { message: message.into(), at: self.at })
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|sign| sign.is_whitespace()) {
            self.at += 1;
        }
    }

    /// Whether the text goes on with `word`, which is then passed.
    fn eat(&mut self, word: &str) -> bool {
        self.space();
        let signs: Vec<char> = word.chars().collect();
        let found = self.text[self.at..].starts_with(&signs);
        self.at += if found { signs.len() } else { 0 };
        found
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.eat(word) { Ok(()) } else { self.error(format!("`{word}` is missing")) }
    }

    fn word(&mut self) -> Parsed<String> {
        self.space();
        let is_part = |sign: &&char| sign.is_alphanumeric() || matches!(sign, '_' | '.');
        let word: String = self.text[self.at..].iter().take_while(is_part).collect();
        // A dot ends a binder, it is no part of it.
        let word = word.trim_end_matches('.').to_owned();
        self.at += word.chars().count();
        if word.is_empty() { self.error("a name is missing") } else { Ok(word) }
    }

    fn var(&mut self) -> Parsed<Var> {
        let name = self.word()?;
        let known = self.program.var_names.iter().position(|known| *known == name);
        Ok(known.map_or_else(|| self.program.fresh(name), |at| Var(at as u32)))
    }

    fn atom(&mut self) -> Parsed<Atom> {
        self.space();
        let start = self.at;
        let negative = self.eat("-");
        let word = self.word()?;
        if word.starts_with(|sign: char| sign.is_ascii_digit()) {
            // The exponent of a float may have a sign.
            let mut text = word;
            if text.ends_with('e') && self.eat("-") {
                text = format!("{text}-{}", self.word()?);
            }
            let text = if negative { format!("-{text}") } else { text };
            if let Ok(integer) = text.parse::<i64>() {
                return Ok(Atom::Const(Const::I64(integer)));
            }
            if let Ok(float) = text.parse::<f64>() {
                return Ok(Atom::Const(Const::F64(float)));
            }
        }
        self.at = start;
        self.var().map(Atom::Var)
    }

    fn map(&mut self, depth: usize) -> Parsed<Map> {
        if depth > DEEPEST {
            return self.error("maps are nested too deeply");
        }
        let first = self.part(depth)?;
        for (sign, join) in [("∘", 0), ("⊕", 1), ("×", 2), ("⋈", 3)] {
            if !self.eat(sign) {
                continue;
            }
            let mut maps = vec![first, self.part(depth)?];
            while self.eat(sign) {
                maps.push(self.part(depth)?);
            }
            return Ok(match join {
                0 => {
                    let last = maps.pop().unwrap_or_default();
                    maps.into_iter().rev().fold(last, |first, last| last.after(first))
                }
                1 => Map::Sum(maps),
                2 => Map::VCat(maps),
                _ => Map::HCat(maps),
            });
        }
        Ok(first)
    }

    fn part(&mut self, depth: usize) -> Parsed<Map> {
        let mut map = self.plain_part(depth + 1)?;
        while self.eat("ᵀ") {
            map = Map::Transpose(Box::new(map));
        }
        Ok(map)
    }

    fn plain_part(&mut self, depth: usize) -> Parsed<Map> {
        if self.eat("(") {
            let map = self.map(depth)?;
            self.expect(")")?;
            return Ok(map);
        }
        if self.eat("∂") {
            return self.var().map(Map::Of);
        }
        if self.eat("S(") {
            let factor = self.factor(depth)?;
            self.expect(")")?;
            return Ok(Map::Scale(factor));
        }
        if self.eat("V(build(") {
            return self.family(depth).map(Map::VCatV);
        }
        if self.eat("H(build(sz(") {
            let array = self.atom()?;
            self.expect("), λj. if")?;
            let index = self.atom()?;
            self.expect("= j then 1 else 0))")?;
            return Ok(Map::OneHot { array, indices: vec![index] });
        }
        if self.eat("H(build(") {
            return self.family(depth).map(Map::HCatV);
        }
        if self.eat("L'(λ") {
            return self.lambda(depth).map(Map::LambdaTransposed);
        }
        if self.eat("L(λ") {
            return self.lambda(depth).map(Map::Lambda);
        }
        if self.eat("0") {
            return Ok(Map::Zero);
        }
        if self.eat("1") {
            return Ok(Map::One);
        }
        self.error("a map is missing")
    }

    fn family(&mut self, depth: usize) -> Parsed<Box<Family>> {
        let size = self.atom()?;
        self.expect(", λ")?;
        let var = self.var()?;
        self.expect(".")?;
        let body = Derived::of(self.map(depth)?);
        self.expect("))")?;
        Ok(Box::new(Family { space: vec![Axis { var, size }], body }))
    }

    fn lambda(&mut self, depth: usize) -> Parsed<Box<Family>> {
        let var = self.var()?;
        self.expect(".")?;
        let body = Derived::of(self.map(depth)?);
        self.expect(")")?;
        Ok(Box::new(Family { space: vec![Axis { var, size: Atom::i64(0) }], body }))
    }

    fn factor(&mut self, depth: usize) -> Parsed<Factor> {
        if depth > DEEPEST {
            return self.error("factors are nested too deeply");
        }
        if self.eat("(") {
            let left = Box::new(self.factor(depth + 1)?);
            let product = self.eat("*");
            if !product {
                self.expect("+")?;
            }
            let right = Box::new(self.factor(depth + 1)?);
            self.expect(")")?;
            return Ok(if product { Factor::Product(left, right) } else { Factor::Sum(left, right) });
        }
        let start = self.at;
        if let Ok(word) = self.word()
            && let Some(op) = PrimOp::from_name(&word)
            && self.eat("(")
        {
            let mut operands = Vec::new();
            let partial = self.operation(op, &mut operands, depth + 1)?;
            let result = operands.first().cloned().unwrap_or(Atom::i64(0));
            return Ok(Factor::Partial { op, partial, operands, result });
        }
        self.at = start;
        self.atom().map(Factor::Atom)
    }

    /// The arguments of an operation, which may be operations.
    fn operation(&mut self, op: PrimOp, operands: &mut Vec<Atom>, depth: usize) -> Parsed<Partial> {
        let mut parts = Vec::new();
        loop {
            if depth > DEEPEST {
                return self.error("factors are nested too deeply");
            }
            let start = self.at;
            let inner = self.word().ok().and_then(|word| PrimOp::from_name(&word)).filter(|_| self.eat("("));
            parts.push(match inner {
                Some(inner) => self.operation(inner, operands, depth + 1)?,
                None => {
                    self.at = start;
                    operands.push(self.atom()?);
                    Partial::Operand(operands.len() - 1)
                }
            });
            if !self.eat(",") {
                self.expect(")")?;
                return Ok(Partial::Apply(op, parts));
            }
        }
    }
}
