//! Reading operations.

use super::lexer::Token;
use super::parser::{Parsed, Parser};
use crate::term::*;

impl Parser {
    pub(super) fn op(&mut self) -> Parsed<Op> {
        if let Some(prim) = self.prim_op()? {
            return Ok(Op::Prim(prim, self.atoms()?));
        }
        let Token::Ident(word) = self.peek().clone() else { return self.error("expected an operation") };
        if word == "fn" {
            return self.lambda("fn").map(Op::Closure);
        }
        let start = self.next();
        match word.as_str() {
            "copy" => self.atoms().map(Op::Copy),
            "if" => {
                let condition = self.atom()?;
                let then = self.block()?;
                self.expect_word("else")?;
                Ok(Op::If { condition, then, otherwise: self.block()? })
            }
            "call" => Ok(Op::Call { function: self.function()?, args: self.atoms()? }),
            "apply" => Ok(Op::Apply { function: self.atom()?, args: self.atoms()? }),
            "construct" => {
                let tag = self.small()?;
                Ok(Op::Construct { ty: self.ty()?, tag, args: self.atoms()? })
            }
            "match" => self.match_op(),
            "build" => self.build(),
            "reduce" | "reduce_comm" => {
                let space = self.space()?;
                self.expect_word("neutral")?;
                let neutral = self.atoms()?;
                let op = self.lambda("op")?;
                Ok(Op::Reduce { space, op, neutral, body: self.block()?, commutative: word == "reduce_comm" })
            }
            "scan" => {
                let mut space = self.space()?;
                let (Some(axis), true) = (space.pop(), space.is_empty()) else { return self.error("a scan has one axis") };
                self.expect_word("neutral")?;
                let neutral = self.atoms()?;
                let op = self.lambda("op")?;
                Ok(Op::Scan { axis, op, neutral, body: self.block()? })
            }
            "hist" => {
                let (space, dest, rank) = self.destination()?;
                self.expect_word("neutral")?;
                let neutral = self.atoms()?;
                let op = self.lambda("op")?;
                Ok(Op::Hist { space, dest, rank, op, neutral, body: self.block()? })
            }
            "scatter" => {
                let (space, dest, rank) = self.destination()?;
                Ok(Op::Scatter { space, dest, rank, body: self.block()? })
            }
            "loop" => self.loop_op(),
            "assert" => {
                let condition = self.atom()?;
                let message = self.separated("(", ")", |parser| {
                    // A text is a variable's name if a number is joined to it.
                    match parser.peek() {
                        Token::Text(text) if !parser.text_is_variable() => {
                            let text = text.clone();
                            parser.next();
                            Ok(MessagePart::Text(text))
                        }
                        _ => parser.atom().map(MessagePart::Value),
                    }
                })?;
                Ok(Op::Assert { condition, message })
            }
            "par" => Ok(Op::Par { left: self.block()?, right: self.block()? }),
            "recompute" => self.block().map(Op::Recompute),
            "trace" => Ok(Op::Trace { tag: self.text()?.into(), args: self.atoms()? }),
            "jvp" => self.differentiate(Mode::Jvp),
            "vjp" => self.differentiate(Mode::Vjp),
            "jmp" => self.differentiate(Mode::Jmp),
            "mjp" => self.differentiate(Mode::Mjp),
            "dependencies" => self.differentiate(Mode::Dependencies),
            "custom" => self.custom(),
            "with_acc" => {
                let (handles, init) = self.initialised()?;
                Ok(Op::WithAccumulators { handles, init, body: self.block()? })
            }
            "accumulate" => self.accumulate(),
            "with_log" => {
                self.expect("(")?;
                let handle = self.binder()?;
                self.expect(")")?;
                self.expect_word("from")?;
                let start = self.atom()?;
                Ok(Op::WithLog { handle, start, body: self.block()? })
            }
            "log" => Ok(Op::Log { handle: self.atom()?, indices: self.atoms()?, values: self.atoms()? }),
            _ => self.array_op(&word, start),
        }
    }

    fn array_op(&mut self, word: &str, start: Token) -> Parsed<Op> {
        match word {
            "array" => {
                let ty = self.ty()?;
                let elements = self.atoms()?;
                let inner = match self.eat_word("inner") {
                    true => self.sizes()?,
                    false => Vec::new(),
                };
                Ok(Op::ArrayLiteral { ty, elements, inner })
            }
            "index" => Ok(Op::Index { array: self.atom()?, indices: self.separated("[", "]", Self::atom)? }),
            "slice" => Ok(Op::Slice { array: self.atom()?, dims: self.slice_dims()? }),
            "update" => {
                let (array, dims) = (self.atom()?, self.slice_dims()?);
                self.expect_word("with")?;
                Ok(Op::Update { array, dims, value: self.atom()? })
            }
            "transpose" => {
                let array = self.atom()?;
                let permutation = self.separated("(", ")", |parser| parser.small().map(|axis| axis as usize))?;
                Ok(Op::Transpose { array, permutation })
            }
            "reshape" => Ok(Op::Reshape { array: self.atom()?, dims: self.atoms()? }),
            "concat" => Ok(Op::Concat { arrays: self.atoms()? }),
            "dim" => Ok(Op::Dim { array: self.atom()?, axis: self.small()? as usize }),
            _ => self.error(format!("no operation begins with {start:?}")),
        }
    }

    fn match_op(&mut self) -> Parsed<Op> {
        let scrutinee = self.atom()?;
        self.expect("{")?;
        let mut arms = Vec::new();
        while self.eat_word("case") {
            let tag = self.small()?;
            arms.push(Arm { tag, binders: self.binders()?, body: self.block()? });
        }
        let otherwise = match self.eat_word("else") {
            true => Some(self.block()?),
            false => None,
        };
        self.expect("}")?;
        Ok(Op::Match { scrutinee, arms, otherwise })
    }

    fn build(&mut self) -> Parsed<Op> {
        let space = self.space()?;
        let inner = match self.eat_word("inner") {
            true => Some(self.separated("(", ")", Self::sizes)?),
            false => None,
        };
        let body = self.block()?;
        let inner = inner.unwrap_or_else(|| vec![Vec::new(); body.results.len()]);
        Ok(Op::Build { space, body, inner })
    }

    fn space(&mut self) -> Parsed<Vec<Axis>> {
        self.separated("[", "]", |parser| {
            let var = parser.var()?;
            parser.expect("<")?;
            Ok(Axis { var, size: parser.atom()? })
        })
    }

    fn sizes(&mut self) -> Parsed<Vec<Size>> {
        self.separated("(", ")", |parser| match parser.eat("?") {
            true => Ok(Size::FromValue),
            false => parser.atom().map(Size::Known),
        })
    }

    fn destination(&mut self) -> Parsed<(Vec<Axis>, Vec<Atom>, usize)> {
        let space = self.space()?;
        self.expect_word("dest")?;
        let dest = self.atoms()?;
        self.expect_word("rank")?;
        Ok((space, dest, self.small()? as usize))
    }

    fn slice_dims(&mut self) -> Parsed<Vec<SliceDim>> {
        self.separated("[", "]", |parser| {
            let start = parser.atom()?;
            if !parser.eat(":") {
                return Ok(SliceDim::Index(start));
            }
            let count = parser.atom()?;
            parser.expect(":")?;
            Ok(SliceDim::Range { start, count, stride: parser.atom()? })
        })
    }

    fn initialised(&mut self) -> Parsed<(Vec<Binder>, Vec<Atom>)> {
        let pairs = self.separated("(", ")", |parser| {
            let binder = parser.binder()?;
            parser.expect("=")?;
            Ok((binder, parser.atom()?))
        })?;
        Ok(pairs.into_iter().unzip())
    }

    fn loop_op(&mut self) -> Parsed<Op> {
        let (carry, initial) = self.initialised()?;
        let form = match self.eat_word("for") {
            true => {
                let index = self.binder()?;
                self.expect("<")?;
                LoopForm::For { index, bound: self.atom()? }
            }
            false => {
                self.expect_word("while")?;
                LoopForm::While { condition: self.block()? }
            }
        };
        let emits = match self.eat_word("emits") {
            true => self.separated("(", ")", Self::sizes)?,
            false => Vec::new(),
        };
        let counted = self.eat_word("counted");
        let mut hints = LoopHints::default();
        if self.eat_word("stripmine") {
            self.expect("(")?;
            hints.stripmine = match u32::try_from(self.unsigned()?) {
                Ok(depth) => Some(depth),
                Err(_) => return self.error("this number is too large"),
            };
            self.expect(")")?;
        }
        if self.eat_word("bound") {
            self.expect("(")?;
            hints.bound = Some(self.unsigned()?);
            self.expect(")")?;
        }
        hints.true_dependency = self.eat_word("true_dep");
        hints.commutes = self.eat_word("ccl");
        let body = self.block()?;
        Ok(Op::Loop(Box::new(Loop { carry, initial, form, body, emits, counted, hints })))
    }

    fn differentiate(&mut self, mode: Mode) -> Parsed<Op> {
        let with_primal = self.eat_word("with_primal");
        let mut count = None;
        if self.eat_word("count") {
            self.expect("(")?;
            count = Some(self.atom()?);
            self.expect(")")?;
        }
        let unroll = self.eat_word("unroll");
        let function = self.lambda("fn")?;
        self.expect_word("args")?;
        let args = self.atoms()?;
        self.expect_word("seeds")?;
        let seeds = self.atoms()?;
        Ok(Op::Differentiate(Box::new(Differentiate { mode, with_primal, function, args, seeds, count, unroll })))
    }

    fn custom(&mut self) -> Parsed<Op> {
        let kind = match self.next() {
            Token::Ident(word) if word == "vjp" => CustomKind::Vjp,
            Token::Ident(word) if word == "jvp" => CustomKind::Jvp,
            Token::Ident(word) if word == "vjp_tape" => CustomKind::VjpTape { tape: self.small()? as usize },
            _ => return self.error("expected `vjp`, `vjp_tape` or `jvp`"),
        };
        let function = self.lambda("fn")?;
        let rule = self.lambda("rule")?;
        self.expect_word("args")?;
        Ok(Op::Custom(Box::new(Custom { kind, function, rule, args: self.atoms()? })))
    }

    fn accumulate(&mut self) -> Parsed<Op> {
        let handle = self.atom()?;
        let mut path = Vec::new();
        loop {
            if self.eat("+=") {
                return Ok(Op::Accumulate { handle, path, value: self.atom()? });
            }
            path.push(if self.eat_word("slice") {
                PathStep::Slice(self.slice_dims()?)
            } else if self.eat_word("payload") {
                self.expect("(")?;
                let tag = self.small()?;
                self.expect(",")?;
                let field = self.small()? as usize;
                self.expect(")")?;
                PathStep::Payload { tag, field }
            } else {
                PathStep::Index(self.separated("[", "]", Self::atom)?)
            });
        }
    }
}
