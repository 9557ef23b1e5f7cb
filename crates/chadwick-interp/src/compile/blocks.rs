//! Statements and control flow.

use super::liveness::{StatementInfo, captures};
use super::{Compiler, compile_lambda};
use crate::code::*;
use chadwick_core::*;

impl Compiler {
    pub(super) fn statements(&mut self, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                self.statement(statement);
            }
        });
    }

    /// A block whose results go into registers that are not read in it.
    pub(super) fn block_into(&mut self, block: &Block, dst: &[Register]) {
        self.statements(block);
        let results = self.results(block);
        for (dst, src) in dst.iter().zip(results) {
            self.emit(Inst::Move { dst: *dst, src });
        }
    }

    fn scoped_block(&mut self, block: &Block, clear: &[Var], dst: &[Register]) {
        self.open();
        self.clear(clear);
        self.block_into(block, dst);
        self.close();
    }

    fn statement(&mut self, statement: &Statement) {
        self.span = statement.span;
        let info = self.liveness.statement(statement).map(copy_info).unwrap_or_default();
        let dst = self.define_all(&statement.binders);
        self.op(statement, &info, &dst);
        self.span = statement.span;
        self.clear(&info.clear_after);
        self.clear(&info.unused);
        self.forget(&info.dying);
        self.forget(&info.clear_after);
        self.forget(&info.released);
        self.forget(&info.unused);
    }

    fn op(&mut self, statement: &Statement, info: &StatementInfo, dst: &[Register]) {
        let dying = &info.dying;
        match &statement.op {
            Op::Copy(atoms) => {
                let sources = self.operands(atoms, dying);
                for (dst, src) in dst.iter().zip(sources) {
                    self.emit(Inst::Move { dst: *dst, src });
                }
            }
            Op::Prim(op, args) => {
                let args = self.operands(args, dying);
                let dst = dst.first().copied().unwrap_or_default();
                let inst = match (*op, &args[..]) {
                    (PrimOp::Unary(op, _), [x]) => Inst::Unary { op, dst, x: *x },
                    (PrimOp::Binary(op, _), [x, y]) => Inst::Binary { op, dst, x: *x, y: *y },
                    (PrimOp::Compare(op, _), [x, y]) => Inst::Compare { op, dst, x: *x, y: *y },
                    (op @ PrimOp::Convert { .. }, [x]) => Inst::Convert { op, dst, x: *x },
                    (op, args) => Inst::Prim { op, dst, args: self.list(args) },
                };
                self.emit(inst);
            }
            Op::If { condition, then, otherwise } => {
                let condition = self.read(condition);
                let to_else = self.emit(Inst::JumpUnless { condition, target: 0 });
                let clear = |at: usize| info.clear_at_entry.get(at).cloned().unwrap_or_default();
                self.scoped_block(then, &clear(0), dst);
                let to_end = self.emit(Inst::Jump { target: 0 });
                self.patch(to_else);
                self.scoped_block(otherwise, &clear(1), dst);
                self.patch(to_end);
            }
            Op::Call { function, args } => {
                let args = self.operands(args, dying);
                let (args, dst) = (self.list(&args), self.registers_list(dst));
                self.emit(Inst::Call { function: *function, args, dst });
            }
            Op::Closure(lambda) => {
                let captured = captures(&statement.op).swap_remove(0);
                let name = self.lambda_name();
                let code = compile_lambda(lambda, name, &captured, &self.scalars, self.span);
                self.code.lambdas.push(code);
                let lambda = self.code.lambdas.len() as u32 - 1;
                let captures = self.capture_list(&captured, dying);
                let dst = dst.first().copied().unwrap_or_default();
                self.emit(Inst::Closure { lambda, captures, dst });
            }
            Op::Apply { function, args } => {
                let operands = self.operands(std::iter::once(function).chain(args), dying);
                let (args, dst) = (self.list(&operands[1..]), self.registers_list(dst));
                self.emit(Inst::Apply { function: operands[0], args, dst });
            }
            Op::Construct { tag, args, .. } => {
                let args = self.operands(args, dying);
                let args = self.list(&args);
                self.emit(Inst::Construct { tag: *tag, args, dst: dst.first().copied().unwrap_or_default() });
            }
            Op::Match { scrutinee, arms, otherwise } => self.match_op(scrutinee, arms, otherwise.as_ref(), info, dst),
            Op::Loop(the_loop) => self.loop_op(the_loop, info, &statement.binders, dst),
            Op::Assert { condition, message } => {
                let condition = self.read(condition);
                let mut texts = Vec::new();
                let mut values = Vec::new();
                for part in message {
                    match part {
                        MessagePart::Text(text) => texts.push(MessageText::Text(text.clone())),
                        MessagePart::Value(atom) => {
                            texts.push(MessageText::Value);
                            values.push(self.read(atom));
                        }
                    }
                }
                self.code.messages.push(texts);
                let message = self.code.messages.len() as u32 - 1;
                let values = self.list(&values);
                self.emit(Inst::Assert { condition, message, values });
                self.clear(dying);
            }
            Op::Par { left, right } => {
                let (into_left, into_right) = dst.split_at(left.results.len().min(dst.len()));
                let clear = |at: usize| info.clear_at_entry.get(at).cloned().unwrap_or_default();
                self.scoped_block(left, &clear(0), into_left);
                self.scoped_block(right, &clear(1), into_right);
            }
            Op::Recompute(block) => self.scoped_block(block, &[], dst),
            Op::Trace { tag, args } => {
                let args = self.operands(args, dying);
                self.code.tags.push(tag.clone());
                let tag = self.code.tags.len() as u32 - 1;
                let (args, dst) = (self.list(&args), self.registers_list(dst));
                self.emit(Inst::Trace { tag, args, dst });
            }
            Op::Differentiate(it) => self.differentiate(it, &statement.op, dying, dst),
            Op::Custom(it) => {
                let captured = captures(&statement.op);
                let name = self.lambda_name();
                let function = compile_lambda(&it.function, name.clone(), &captured[0], &self.scalars, self.span);
                let rule = compile_lambda(&it.rule, name, &captured[1], &self.scalars, self.span);
                self.code.customs.push(CustomSpec { kind: it.kind, function, rule });
                let spec = self.code.customs.len() as u32 - 1;
                let function_vars: Vec<Atom> = captured[0].iter().map(|var| Atom::Var(*var)).collect();
                let rule_vars: Vec<Atom> = captured[1].iter().map(|var| Atom::Var(*var)).collect();
                let operands = self.operands(function_vars.iter().chain(&rule_vars).chain(&it.args), dying);
                let (function_part, rest) = operands.split_at(function_vars.len());
                let (rule_part, args) = rest.split_at(rule_vars.len());
                let (captures, rule_captures) = (self.list(function_part), self.list(rule_part));
                let (args, dst) = (self.list(args), self.registers_list(dst));
                self.emit(Inst::Custom { spec, captures, rule_captures, args, dst });
            }
            Op::WithAccumulators { handles, init, body } => {
                let init = self.operands(init, dying);
                self.open();
                let handle_registers = self.define_all(handles);
                let (init, handles) = (self.list(&init), self.registers_list(&handle_registers));
                let (finals, results) = dst.split_at(handle_registers.len().min(dst.len()));
                self.emit(Inst::OpenAccumulators { init, handles });
                self.clear(info.clear_at_entry.first().map_or(&[], Vec::as_slice));
                self.block_into(body, results);
                self.close();
                let dst = self.registers_list(finals);
                self.emit(Inst::CloseAccumulators { dst });
            }
            Op::WithLog { handle, start, body } => {
                let start = self.operands([start], dying)[0];
                let columns = match &handle.ty {
                    chadwick_core::Type::Log(log) => log.columns(),
                    _ => Vec::new(),
                };
                let element = |ty: &chadwick_core::Type| match ty {
                    chadwick_core::Type::Array(array) => array.element.clone(),
                    _ => chadwick_core::Element::Unit,
                };
                self.code.logs.push(columns.iter().map(element).collect());
                let spec = self.code.logs.len() as u32 - 1;
                self.open();
                let handle = self.define_all(std::slice::from_ref(handle))[0];
                let (finals, results) = dst.split_at(columns.len().min(dst.len()));
                self.emit(Inst::OpenLog { columns: spec, start, handle });
                self.clear(info.clear_at_entry.first().map_or(&[], Vec::as_slice));
                self.block_into(body, results);
                self.close();
                let dst = self.registers_list(finals);
                self.emit(Inst::CloseLog { dst });
            }
            Op::Log { handle, indices, values } => {
                let operands = self.operands(std::iter::once(handle).chain(indices).chain(values), dying);
                let row = self.list(&operands[1..]);
                self.emit(Inst::Log { handle: operands[0], row, dst: dst.first().copied().unwrap_or_default() });
            }
            Op::Accumulate { handle, path, value } => self.accumulate(handle, path, value, dying),
            Op::Build { .. } | Op::Reduce { .. } | Op::Scan { .. } | Op::Hist { .. } | Op::Scatter { .. } => {
                self.array_form(statement, info, dst);
            }
            _ => self.array_op(&statement.op, dying, dst),
        }
    }

    fn lambda_name(&self) -> chadwick_source::Name {
        self.code.name.clone()
    }

    fn capture_list(&mut self, captured: &[Var], dying: &[Var]) -> List {
        let atoms: Vec<Atom> = captured.iter().map(|var| Atom::Var(*var)).collect();
        let operands = self.operands(&atoms, dying);
        self.list(&operands)
    }

    fn match_op(&mut self, scrutinee: &Atom, arms: &[Arm], otherwise: Option<&Block>, info: &StatementInfo, dst: &[Register]) {
        // The sum itself is needed no more once the payload is out.
        let operand = self.operands([scrutinee], &info.dying)[0];
        let tags = arms.iter().map(|arm| arm.tag as usize + 1).max().unwrap_or(0);
        let held = self.temporary();
        self.emit(Inst::Move { dst: held, src: operand });
        let targets = self.list(&vec![Operand(u32::MAX); tags + 1]);
        self.emit(Inst::Branch { scrutinee: Operand::register(held), targets });
        let clear = |at: usize| info.clear_at_entry.get(at).cloned().unwrap_or_default();
        let mut exits = Vec::new();
        for (at, arm) in arms.iter().enumerate() {
            self.code.operands[targets.start as usize + arm.tag as usize] = Operand(self.code.insts.len() as u32);
            self.open();
            let binders = self.define_all(&arm.binders);
            let into = self.registers_list(&binders);
            self.emit(Inst::Unpack { sum: Operand::take(held), dst: into });
            self.clear(&clear(at));
            self.block_into(&arm.body, dst);
            self.close();
            exits.push(self.emit(Inst::Jump { target: 0 }));
        }
        if let Some(block) = otherwise {
            // The last target stands for all tags without an arm.
            self.code.operands[targets.start as usize + tags] = Operand(self.code.insts.len() as u32);
            self.emit(Inst::Clear { register: held });
            self.scoped_block(block, &clear(arms.len()), dst);
        }
        exits.into_iter().for_each(|exit| self.patch(exit));
        self.release(&[held]);
    }

    fn loop_op(&mut self, the_loop: &Loop, info: &StatementInfo, binders: &[Binder], dst: &[Register]) {
        let carried = the_loop.carry.len();
        let (into_carry, rest) = dst.split_at(carried.min(dst.len()));
        let (into_count, into_emits) = rest.split_at(usize::from(the_loop.counted).min(rest.len()));
        let bound = match &the_loop.form {
            LoopForm::For { bound, .. } => Some(self.read(bound)),
            LoopForm::While { .. } => None,
        };
        // The sizes of the emits are read before the initial values move away.
        let builders: Vec<Register> = the_loop.emits.iter().map(|_| self.temporary()).collect();
        let emitted = binders.iter().skip(carried + usize::from(the_loop.counted));
        for ((builder, sizes), binder) in builders.iter().zip(&the_loop.emits).zip(emitted) {
            self.growing_builder(*builder, sizes, &binder.ty);
        }
        let initial = self.operands(&the_loop.initial, &info.dying);
        self.open();
        let carry = self.define_all(&the_loop.carry);
        for (dst, src) in carry.iter().zip(initial) {
            self.emit(Inst::Move { dst: *dst, src });
        }
        let trips = the_loop.counted.then(|| self.temporary());
        if let Some(trips) = trips {
            let zero = self.constant(Const::I64(0));
            self.emit(Inst::Move { dst: trips, src: zero });
        }
        match (&the_loop.form, bound) {
            (LoopForm::For { index, .. }, Some(bound)) => {
                let (counter, limit) = (self.temporary(), self.temporary());
                let start = self.emit(Inst::CountStart { counter, limit, bound, end: 0 });
                let body = self.here();
                let index = self.define(index);
                self.emit(Inst::Move { dst: index, src: Operand::register(counter) });
                self.clear(info.clear_at_entry.first().map_or(&[], Vec::as_slice));
                self.loop_body(the_loop, &carry, &builders, trips);
                self.emit(Inst::CountNext { counter, limit, body });
                self.patch(start);
                self.release(&[counter, limit]);
            }
            (LoopForm::While { condition }, _) => {
                let test = self.here();
                let holds = self.temporary();
                self.scoped_block(condition, &[], &[holds]);
                let exit = self.emit(Inst::JumpUnless { condition: Operand::register(holds), target: 0 });
                self.clear(info.clear_at_entry.get(1).map_or(&[], Vec::as_slice));
                self.loop_body(the_loop, &carry, &builders, trips);
                self.emit(Inst::JumpBack { target: test });
                self.patch(exit);
                self.release(&[holds]);
            }
            _ => {}
        }
        for (dst, src) in into_carry.iter().zip(&carry) {
            self.emit(Inst::Move { dst: *dst, src: Operand::take(*src) });
        }
        if let (Some(trips), [dst]) = (trips, into_count) {
            self.emit(Inst::Move { dst: *dst, src: Operand::register(trips) });
            self.release(&[trips]);
        }
        for (builder, dst) in builders.iter().zip(into_emits) {
            self.emit(Inst::BuildFinish { builder: *builder, dst: *dst });
        }
        self.close();
        self.release(&builders);
    }

    /// The body, then the next carry all at once, then the emits.
    fn loop_body(&mut self, the_loop: &Loop, carry: &[Register], builders: &[Register], trips: Option<Register>) {
        self.open();
        self.statements(&the_loop.body);
        let mut results = self.results(&the_loop.body);
        // A carry that stays in its register must not be moved away by another result of the same name.
        let stays = |dst: Register, src: Operand| !src.is_constant() && src.index() == dst as usize;
        let staying: Vec<usize> =
            carry.iter().zip(&results).filter(|(dst, src)| stays(**dst, **src)).map(|(dst, _)| *dst as usize).collect();
        for operand in results.iter_mut().filter(|operand| !operand.is_constant() && staying.contains(&operand.index())) {
            *operand = Operand::register(operand.index() as Register);
        }
        let (next, emitted) = results.split_at(carry.len().min(results.len()));
        let pairs = carry.iter().copied().zip(next.iter().copied());
        let moving: Vec<(Register, Operand)> = pairs.filter(|(dst, src)| !stays(*dst, *src)).collect();
        let staged = self.temporaries(moving.len());
        for (stage, (_, src)) in staged.iter().zip(&moving) {
            self.emit(Inst::Move { dst: *stage, src: *src });
        }
        for (builder, value) in builders.iter().zip(emitted) {
            self.emit(Inst::BuildPush { builder: *builder, value: *value });
        }
        for (stage, (dst, _)) in staged.iter().zip(&moving) {
            self.emit(Inst::Move { dst: *dst, src: Operand::take(*stage) });
        }
        if let Some(trips) = trips {
            self.emit(Inst::Increment { register: trips });
        }
        self.release(&staged);
        self.close();
    }

    fn differentiate(&mut self, it: &Differentiate, op: &Op, dying: &[Var], dst: &[Register]) {
        let captured = captures(op).swap_remove(0);
        let name = self.lambda_name();
        let function = compile_lambda(&it.function, name, &captured, &self.scalars, self.span);
        self.code.differentiates.push(DifferentiateSpec {
            mode: it.mode,
            with_primal: it.with_primal,
            function,
            args: it.args.len(),
            seeds: it.seeds.len(),
            params: it.function.params.iter().map(|param| param.ty.clone()).collect(),
            results: it.function.results.clone(),
        });
        let spec = self.code.differentiates.len() as u32 - 1;
        let vars: Vec<Atom> = captured.iter().map(|var| Atom::Var(*var)).collect();
        let all = vars.iter().chain(&it.args).chain(&it.seeds).chain(&it.count);
        let operands = self.operands(all, dying);
        let (captured, rest) = operands.split_at(vars.len());
        let (captures, operands, dst) = (self.list(captured), self.list(rest), self.registers_list(dst));
        self.emit(Inst::Differentiate { spec, captures, operands, dst });
    }
}

fn copy_info(info: &StatementInfo) -> StatementInfo {
    StatementInfo {
        dying: info.dying.clone(),
        clear_after: info.clear_after.clone(),
        released: info.released.clone(),
        unused: info.unused.clone(),
        clear_at_entry: info.clear_at_entry.clone(),
    }
}
