//! From text to terms: programs, types, blocks. Operations are in `parse_op`.

use super::MAX_NESTING;
use super::lexer::{Positioned, Token, lex};
use crate::constant::Const;
use crate::prim::PrimOp;
use crate::term::*;
use crate::types::*;
use chadwick_source::{Name, Span};
use half::f16;
use rustc_hash::FxHashMap;

/// Why a text is no program, and where: line and column count from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

pub(super) type Parsed<T> = Result<T, ParseError>;

/// Numbers of variables, functions and types beyond this are refused: tables are indexed by them.
const MAX_NUMBER: u32 = 10_000_000;

/// Reads a program. Spans are empty.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let tokens = lex(text)?;
    let mut parser = Parser { tokens, at: 0, nesting: 0, ..Parser::default() };
    parser.declare_names()?;
    parser.program()?;
    Ok(parser.program)
}

#[derive(Default)]
pub(super) struct Parser {
    tokens: Vec<Positioned>,
    at: usize,
    nesting: usize,
    program: Program,
    /// Functions and types by name, where the name is unique.
    functions: FxHashMap<String, Option<u32>>,
    types: FxHashMap<String, Option<u32>>,
    /// Variables of the current function written without a number.
    symbols: FxHashMap<String, Var>,
}

impl Parser {
    pub(super) fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let (line, column) = self.tokens.get(self.at).map_or((0, 0), |token| (token.line, token.column));
        Err(ParseError { line, column, message: message.into() })
    }

    pub(super) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at + ahead).map_or(&Token::End, |positioned| &positioned.token)
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(super) fn at_punct(&self, punct: &str) -> bool {
        matches!(self.peek(), Token::Punct(found) if *found == punct)
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let found = self.at_punct(punct);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect(&mut self, punct: &str) -> Parsed<()> {
        match self.eat(punct) {
            true => Ok(()),
            false => self.error(format!("expected `{punct}`")),
        }
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Ident(found) if found == word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => self.error(format!("expected `{word}`")),
        }
    }

    /// Runs `parse` one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            return self.error("too deeply nested");
        }
        self.nesting += 1;
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || parse(self));
        self.nesting -= 1;
        result
    }

    pub(super) fn separated<T>(
        &mut self,
        open: &str,
        close: &str,
        mut parse: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(parse(self)?);
        }
        Ok(items)
    }

    pub(super) fn unsigned(&mut self) -> Parsed<u64> {
        if let Token::Number(text) = self.peek()
            && let Ok(number) = text.parse()
        {
            self.next();
            return Ok(number);
        }
        self.error("expected a number")
    }

    pub(super) fn small(&mut self) -> Parsed<u32> {
        match u32::try_from(self.unsigned()?) {
            Ok(number) if number <= MAX_NUMBER => Ok(number),
            _ => self.error("this number is too large"),
        }
    }

    pub(super) fn text(&mut self) -> Parsed<String> {
        match self.next() {
            Token::Text(text) => Ok(text),
            _ => self.error("expected a text in quotes"),
        }
    }

    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::Ident(name) | Token::Text(name) => {
                let name = name.clone();
                self.next();
                Ok(name)
            }
            _ => self.error("expected a name"),
        }
    }

    /// Numbers definitions before bodies are read, so that uses may come first.
    fn declare_names(&mut self) -> Parsed<()> {
        let (mut functions, mut types) = (0, 0);
        let mut depth = 0usize;
        for at in 0..self.tokens.len() {
            match &self.tokens[at].token {
                Token::Punct("{") => depth += 1,
                Token::Punct("}") => depth = depth.saturating_sub(1),
                Token::Ident(word) if depth == 0 && (word == "def" || word == "type") => {
                    let Some(Token::Ident(name) | Token::Text(name)) = self.tokens.get(at + 1).map(|next| &next.token) else {
                        continue;
                    };
                    let (table, counter) = match word == "def" {
                        true => (&mut self.functions, &mut functions),
                        false => (&mut self.types, &mut types),
                    };
                    let number = *counter;
                    *counter += 1;
                    table.entry(name.clone()).and_modify(|known| *known = None).or_insert(Some(number));
                }
                _ => {}
            }
        }
        // Explicit numbers come first; names without one follow behind them.
        let numbers = self.tokens.iter().filter_map(|positioned| match &positioned.token {
            Token::Ident(name) => split_variable(name).map(|(_, number)| number),
            _ => None,
        });
        let used = numbers.filter(|number| *number <= MAX_NUMBER).max().map_or(0, |number| number as usize + 1);
        self.program.var_names = vec![Name::default(); used];
        Ok(())
    }

    fn program(&mut self) -> Parsed<()> {
        loop {
            if *self.peek() == Token::End {
                return Ok(());
            }
            if self.eat_word("type") {
                self.type_definition()?;
            } else if self.eat_word("def") {
                self.function_definition()?;
            } else if self.eat_word("entry") {
                self.entry()?;
            } else {
                return self.error("expected `type`, `def` or `entry`");
            }
        }
    }

    /// `name@3` at a definition: the number must be the one it would have anyway.
    fn defined_name(&mut self, number: usize) -> Parsed<Name> {
        let name = self.name()?;
        if self.eat("@") && self.unsigned()? != number as u64 {
            return self.error(format!("this is number {number}"));
        }
        Ok(name.into())
    }

    fn type_definition(&mut self) -> Parsed<()> {
        let name = self.defined_name(self.program.types.len())?;
        self.expect("=")?;
        let constructors = self.constructors()?;
        self.program.types.push(TypeDefinition { name, constructors });
        Ok(())
    }

    fn function_definition(&mut self) -> Parsed<()> {
        let name = self.defined_name(self.program.functions.len())?;
        self.symbols.clear();
        let (params, results) = self.signature()?;
        let body = self.block()?;
        self.program.functions.push(Function { name, params, results, body, span: Span::default() });
        Ok(())
    }

    fn entry(&mut self) -> Parsed<()> {
        let name = self.name()?.into();
        self.expect("=")?;
        let function = self.function()?;
        let params = self.entry_values()?;
        self.expect("->")?;
        let results = self.entry_values()?;
        self.program.entries.push(Entry { name, function, params, results });
        Ok(())
    }

    fn entry_values(&mut self) -> Parsed<Vec<EntryValue>> {
        self.separated("(", ")", |parser| {
            let name = parser.text()?.into();
            let (source_type, types) = (parser.text()?, parser.types()?);
            let paths = match parser.eat_word("at") {
                true => parser.separated("(", ")", |parser| parser.text().map(Name::from))?,
                false => vec![Name::default(); types.len()],
            };
            Ok(EntryValue { name, source_type, types, paths })
        })
    }

    /// `name@3`, `@3` or a unique `name`.
    fn reference(&mut self, functions: bool) -> Parsed<u32> {
        let name = match self.at_punct("@") {
            true => None,
            false => Some(self.name()?),
        };
        if self.eat("@") {
            return self.small();
        }
        let table = if functions { &self.functions } else { &self.types };
        match name.as_ref().and_then(|name| table.get(name)) {
            Some(Some(number)) => Ok(*number),
            Some(None) => self.error("this name is not unique: write its number"),
            None => self.error("unknown name"),
        }
    }

    pub(super) fn function(&mut self) -> Parsed<FunctionId> {
        self.reference(true).map(FunctionId)
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.nested(Self::ty_here)
    }

    fn ty_here(&mut self) -> Parsed<Type> {
        if self.at_punct("[") {
            return self.array_type();
        }
        if self.eat("{") {
            let constructors = self.constructors()?;
            self.expect("}")?;
            return Ok(Type::Sum(constructors.into()));
        }
        if self.eat_word("fn") {
            let params = self.types()?;
            self.expect("->")?;
            return Ok(Type::Function(FunctionType { params, results: self.types()? }.into()));
        }
        if self.at_word("acc") && *self.peek_at(1) == Token::Punct("(") {
            self.next();
            self.expect("(")?;
            let content = self.ty()?;
            self.expect(")")?;
            return Ok(Type::Accumulator(content.into()));
        }
        if self.at_word("log") && *self.peek_at(1) == Token::Punct("(") {
            self.next();
            self.expect("(")?;
            let indices = self.small()? as usize;
            let mut values = Vec::new();
            while self.eat(",") {
                values.push(self.ty()?);
            }
            self.expect(")")?;
            return Ok(Type::Log(LogType { indices, values }.into()));
        }
        if let Token::Ident(name) = self.peek()
            && *self.peek_at(1) != Token::Punct("@")
            && let Some(prim) = Prim::from_name(name)
        {
            self.next();
            return Ok(Type::Prim(prim));
        }
        self.reference(false).map(|number| Type::Named(TypeId(number)))
    }

    fn array_type(&mut self) -> Parsed<Type> {
        let mut dims = Vec::new();
        while self.eat("[") {
            dims.push(match self.eat("?") {
                true => Dim::Any,
                false => match self.next() {
                    Token::Number(text) if text.parse::<i64>().is_ok() => Dim::Const(text.parse().unwrap_or_default()),
                    _ => return self.error("expected a size or `?`"),
                },
            });
            self.expect("]")?;
        }
        if self.eat("(") {
            self.expect(")")?;
            return Ok(Type::Array(ArrayType { element: Element::Unit, dims }));
        }
        let element = match self.ty()? {
            Type::Prim(prim) => Element::Prim(prim),
            other => Element::Boxed(other.into()),
        };
        Ok(Type::Array(ArrayType { element, dims }))
    }

    pub(super) fn types(&mut self) -> Parsed<Vec<Type>> {
        self.separated("(", ")", Self::ty)
    }

    fn constructors(&mut self) -> Parsed<Vec<Constructor>> {
        let mut constructors = Vec::new();
        while self.eat("#") {
            let name = self.name()?.into();
            let payload = match self.at_punct("(") {
                true => self.types()?,
                false => Vec::new(),
            };
            constructors.push(Constructor { name, payload });
            if !self.eat("|") {
                break;
            }
        }
        Ok(constructors)
    }

    pub(super) fn signature(&mut self) -> Parsed<(Vec<Binder>, Vec<Type>)> {
        let params = self.binders()?;
        self.expect("->")?;
        Ok((params, self.types()?))
    }

    pub(super) fn binders(&mut self) -> Parsed<Vec<Binder>> {
        self.separated("(", ")", Self::binder)
    }

    pub(super) fn binder(&mut self) -> Parsed<Binder> {
        let var = self.var()?;
        self.expect(":")?;
        Ok(Binder { var, ty: self.ty()? })
    }

    pub(super) fn lambda(&mut self, word: &str) -> Parsed<Lambda> {
        self.expect_word(word)?;
        let (params, results) = self.signature()?;
        Ok(Lambda { params, results, body: self.block()? })
    }

    /// `name_12`, `"any name"_12`, or a name alone.
    pub(super) fn var(&mut self) -> Parsed<Var> {
        match self.peek().clone() {
            Token::Ident(text) => {
                let var = match split_variable(&text) {
                    Some((name, number)) => self.numbered(name, number)?,
                    None => self.symbol(&text),
                };
                self.next();
                Ok(var)
            }
            Token::Text(name) => {
                let joined = self.tokens.get(self.at + 1).is_some_and(|next| next.joined);
                let number = match self.peek_at(1) {
                    Token::Ident(text) if joined => split_variable(text).filter(|(name, _)| name.is_empty()),
                    _ => None,
                };
                let var = match number {
                    Some((_, number)) => self.numbered(&name, number)?,
                    None => return self.error("expected a variable"),
                };
                self.next();
                self.next();
                Ok(var)
            }
            _ => self.error("expected a variable"),
        }
    }

    /// Whether a text in quotes is the name of a variable: a number is joined to it.
    pub(super) fn text_is_variable(&self) -> bool {
        let joined = self.tokens.get(self.at + 1).is_some_and(|next| next.joined);
        joined && matches!(self.peek_at(1), Token::Ident(text) if text.starts_with('_'))
    }

    fn numbered(&mut self, name: &str, number: u32) -> Parsed<Var> {
        match self.program.var_names.get_mut(number as usize) {
            Some(slot) => {
                *slot = name.into();
                Ok(Var(number))
            }
            None => self.error("this variable's number is too large"),
        }
    }

    fn symbol(&mut self, name: &str) -> Var {
        if let Some(var) = self.symbols.get(name) {
            return *var;
        }
        let var = self.program.fresh(name);
        self.symbols.insert(name.to_owned(), var);
        var
    }

    pub(super) fn atoms(&mut self) -> Parsed<Vec<Atom>> {
        self.separated("(", ")", Self::atom)
    }

    pub(super) fn atom(&mut self) -> Parsed<Atom> {
        match self.peek().clone() {
            Token::Number(text) => match number_constant(&text) {
                Some(constant) => {
                    self.next();
                    Ok(Atom::Const(constant))
                }
                None => self.error(format!("{text} is no constant: write its type behind it")),
            },
            Token::Punct("-") => {
                self.next();
                match self.special_constant()? {
                    Const::F16(value) => Ok(Atom::Const(Const::F16(-value))),
                    Const::F32(value) => Ok(Atom::Const(Const::F32(-value))),
                    Const::F64(value) => Ok(Atom::Const(Const::F64(-value))),
                    _ => self.error("expected an infinity"),
                }
            }
            Token::Ident(word) if word == "true" || word == "false" => {
                self.next();
                Ok(Atom::bool(word == "true"))
            }
            Token::Ident(word) if Prim::from_name(&word).is_some() && *self.peek_at(1) == Token::Punct(".") => {
                self.special_constant().map(Atom::Const)
            }
            _ => self.var().map(Atom::Var),
        }
    }

    /// `f64.nan`, `f64.inf`, `f64.bits(123)`
    fn special_constant(&mut self) -> Parsed<Const> {
        let Token::Ident(prim) = self.next() else { return self.error("expected a constant") };
        self.expect(".")?;
        let Token::Ident(which) = self.next() else { return self.error("expected a constant") };
        let bits = match which.as_str() {
            "bits" => {
                self.expect("(")?;
                let bits = self.unsigned()?;
                self.expect(")")?;
                Some(bits)
            }
            "nan" | "inf" => None,
            _ => return self.error("expected `nan`, `inf` or `bits`"),
        };
        let nan = which == "nan";
        Ok(match (Prim::from_name(&prim), bits) {
            (Some(Prim::F16), Some(bits)) => Const::F16(f16::from_bits(bits as u16)),
            (Some(Prim::F32), Some(bits)) => Const::F32(f32::from_bits(bits as u32)),
            (Some(Prim::F64), Some(bits)) => Const::F64(f64::from_bits(bits)),
            (Some(Prim::F16), None) => Const::F16(if nan { f16::NAN } else { f16::INFINITY }),
            (Some(Prim::F32), None) => Const::F32(if nan { f32::NAN } else { f32::INFINITY }),
            (Some(Prim::F64), None) => Const::F64(if nan { f64::NAN } else { f64::INFINITY }),
            _ => return self.error("only floats have special values"),
        })
    }

    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.nested(|parser| {
            parser.expect("{")?;
            let mut statements = Vec::new();
            while !parser.eat_word("return") {
                statements.push(parser.statement()?);
            }
            let mut results = Vec::new();
            while !parser.eat("}") {
                if !results.is_empty() {
                    parser.expect(",")?;
                }
                results.push(parser.atom()?);
            }
            Ok(Block { statements, results })
        })
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let behind_name = match self.peek() {
            Token::Text(_) => 2,
            _ => 1,
        };
        let mut binders = Vec::new();
        if *self.peek_at(behind_name) == Token::Punct(":") {
            binders.push(self.binder()?);
            while self.eat(",") {
                binders.push(self.binder()?);
            }
            self.expect("=")?;
        }
        let op = self.op()?;
        Ok(Statement { binders, op, span: Span::default() })
    }

    /// `f64.add`, if that stands here.
    pub(super) fn prim_op(&mut self) -> Parsed<Option<PrimOp>> {
        let (Token::Ident(prim), Token::Punct("."), Token::Ident(op)) = (self.peek(), self.peek_at(1), self.peek_at(2)) else {
            return Ok(None);
        };
        match PrimOp::from_name(&format!("{prim}.{op}")) {
            Some(op) => {
                (0..3).for_each(|_| drop(self.next()));
                Ok(Some(op))
            }
            None => self.error("unknown primitive operation"),
        }
    }
}

/// `name_12` into its parts.
fn split_variable(text: &str) -> Option<(&str, u32)> {
    let (name, number) = text.rsplit_once('_')?;
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // Only the usual way of writing a number, so that printing gives the same text.
    let usual = number == "0" || !number.starts_with('0');
    match plain && usual {
        true => number.parse().ok().map(|number| (name, number)),
        false => None,
    }
}

fn number_constant(text: &str) -> Option<Const> {
    let prim = Prim::ALL.into_iter().find(|prim| text.ends_with(prim.name()))?;
    let digits = text.strip_suffix(prim.name())?;
    Some(match prim {
        Prim::Bool => return None,
        Prim::I8 => Const::I8(digits.parse().ok()?),
        Prim::I16 => Const::I16(digits.parse().ok()?),
        Prim::I32 => Const::I32(digits.parse().ok()?),
        Prim::I64 => Const::I64(digits.parse().ok()?),
        Prim::U8 => Const::U8(digits.parse().ok()?),
        Prim::U16 => Const::U16(digits.parse().ok()?),
        Prim::U32 => Const::U32(digits.parse().ok()?),
        Prim::U64 => Const::U64(digits.parse().ok()?),
        Prim::F16 => Const::F16(f16::from_f32(digits.parse().ok()?)),
        Prim::F32 => Const::F32(digits.parse().ok()?),
        Prim::F64 => Const::F64(digits.parse().ok()?),
    })
}
