//! Array forms, which become loops in the frame of their function, and operations on whole arrays.

use super::Compiler;
use super::liveness::StatementInfo;
use crate::code::*;
use chadwick_core::*;

/// A body over an index space, under construction.
struct OpenSpace {
    space: u32,
    start: usize,
    body: Label,
    bounds: Vec<Register>,
}

impl Compiler {
    pub(super) fn array_form(&mut self, statement: &Statement, info: &StatementInfo, dst: &[Register]) {
        let clear = |at: usize| info.clear_at_entry.get(at).cloned().unwrap_or_default();
        match &statement.op {
            Op::Build { space, body, inner } => {
                let mut inner_sizes = inner.iter();
                let mut pushing = Vec::new();
                let mut builders = Vec::new();
                for binder in &statement.binders {
                    let builder = self.temporary();
                    let (spec, holds_values) = self.build_spec(&binder.ty, space.len(), false);
                    let inner: &[Size] = match holds_values {
                        true => inner_sizes.next().map_or(&[], Vec::as_slice),
                        false => &[],
                    };
                    let inner = self.sizes(inner);
                    let outer: Vec<Operand> = space.iter().map(|axis| self.read(&axis.size)).collect();
                    let outer = self.list(&outer);
                    self.emit(Inst::BuildStart { builder, spec, outer, inner });
                    builders.push(builder);
                    if holds_values {
                        pushing.push(builder);
                    }
                }
                let open = self.open_space(space);
                self.clear(&clear(0));
                self.statements(body);
                let results = self.results(body);
                for (builder, value) in pushing.iter().zip(results) {
                    self.emit(Inst::BuildPush { builder: *builder, value });
                }
                self.close_space(open);
                for (builder, dst) in builders.iter().zip(dst) {
                    self.emit(Inst::BuildFinish { builder: *builder, dst: *dst });
                }
                self.release(&builders);
            }
            Op::Reduce { space, op, neutral, body, .. } => {
                let neutral = self.operands(neutral, &info.dying);
                self.folding(space, op, neutral, body, info, &[]);
                let accumulators = self.take_accumulators();
                for (dst, accumulator) in dst.iter().zip(&accumulators) {
                    self.emit(Inst::Move { dst: *dst, src: Operand::take(*accumulator) });
                }
                self.release(&accumulators);
            }
            Op::Scan { axis, op, neutral, body } => {
                let space = std::slice::from_ref(axis);
                let mut builders = Vec::new();
                for (binder, neutral) in statement.binders.iter().zip(neutral) {
                    let (builder, (spec, _)) = (self.temporary(), self.build_spec(&binder.ty, 1, false));
                    // An empty scan has the shape of the neutral element behind its axis.
                    let sizes = self.temporaries(binder.ty.rank().saturating_sub(1));
                    for (at, size) in sizes.iter().enumerate() {
                        let array = self.read(neutral);
                        self.emit(Inst::Dim { dst: *size, array, axis: at as u32 });
                    }
                    let inner = self.registers_list(&sizes);
                    let outer = [self.read(&axis.size)];
                    let outer = self.list(&outer);
                    self.emit(Inst::BuildStart { builder, spec, outer, inner });
                    self.release(&sizes);
                    builders.push(builder);
                }
                let neutral = self.operands(neutral, &info.dying);
                self.folding(space, op, neutral, body, info, &builders);
                let accumulators = self.take_accumulators();
                for accumulator in &accumulators {
                    self.emit(Inst::Clear { register: *accumulator });
                }
                self.release(&accumulators);
                for (builder, dst) in builders.iter().zip(dst) {
                    self.emit(Inst::BuildFinish { builder: *builder, dst: *dst });
                }
                self.release(&builders);
            }
            Op::Hist { space, dest, rank, op, neutral: _, body } => {
                self.clear_operands(&statement.op, dest, info);
                let dest = self.operands(dest, &info.dying);
                let targets = self.moved(dest);
                let open = self.open_space(space);
                self.clear(&clear(0));
                self.statements(body);
                let results = self.results(body);
                let (indices, values) = results.split_at((*rank).min(results.len()));
                let indices = self.list(indices);
                let params = self.define_all(&op.params);
                let (old, new) = params.split_at(targets.len().min(params.len()));
                for (param, value) in new.iter().zip(values) {
                    self.emit(Inst::Move { dst: *param, src: *value });
                }
                let array = targets.first().copied().unwrap_or_default();
                let outside = self.emit(Inst::JumpOutside { array, indices, target: 0 });
                for (param, target) in old.iter().zip(&targets) {
                    self.emit(Inst::Load { dst: *param, array: *target, indices });
                }
                self.clear(&clear(1));
                self.statements(&op.body);
                let results = self.results(&op.body);
                for (target, value) in targets.iter().zip(results) {
                    self.emit(Inst::Store { array: *target, indices, value });
                }
                self.patch(outside);
                self.close_space(open);
                self.move_out(&targets, dst);
            }
            Op::Scatter { space, dest, rank, body } => {
                let dest = self.operands(dest, &info.dying);
                let targets = self.moved(dest);
                let open = self.open_space(space);
                self.clear(&clear(0));
                self.statements(body);
                let results = self.results(body);
                let (indices, values) = results.split_at((*rank).min(results.len()));
                let indices = self.list(indices);
                let array = targets.first().copied().unwrap_or_default();
                let outside = self.emit(Inst::JumpOutside { array, indices, target: 0 });
                for (target, value) in targets.iter().zip(values) {
                    self.emit(Inst::Store { array: *target, indices, value: *value });
                }
                self.patch(outside);
                self.close_space(open);
                self.move_out(&targets, dst);
            }
            _ => {}
        }
    }

    /// Empties operands that die unread: the neutral elements of a histogram.
    fn clear_operands(&mut self, op: &Op, read: &[Atom], info: &StatementInfo) {
        let Op::Hist { neutral, .. } = op else { return };
        let dead: Vec<Var> = neutral
            .iter()
            .filter_map(|atom| match atom {
                Atom::Var(var) if info.dying.contains(var) && !read.contains(atom) => Some(*var),
                _ => None,
            })
            .collect();
        self.clear(&dead);
    }

    fn moved(&mut self, operands: Vec<Operand>) -> Vec<Register> {
        let registers = self.temporaries(operands.len());
        for (dst, src) in registers.iter().zip(operands) {
            self.emit(Inst::Move { dst: *dst, src });
        }
        registers
    }

    fn move_out(&mut self, registers: &[Register], dst: &[Register]) {
        for (dst, src) in dst.iter().zip(registers) {
            self.emit(Inst::Move { dst: *dst, src: Operand::take(*src) });
        }
        self.release(registers);
    }

    /// `accumulator := accumulator op element` at every point, and a push of it into each builder.
    fn folding(
        &mut self,
        space: &[Axis],
        op: &Lambda,
        neutral: Vec<Operand>,
        body: &Block,
        info: &StatementInfo,
        builders: &[Register],
    ) {
        let clear = |at: usize| info.clear_at_entry.get(at).cloned().unwrap_or_default();
        let accumulators = self.moved(neutral);
        let mut shapes = Vec::new();
        for (ty, accumulator) in op.results.iter().zip(&accumulators) {
            if ty.rank() > 0 {
                let shape = self.temporary();
                self.emit(Inst::ShapeOf { dst: shape, array: Operand::register(*accumulator) });
                shapes.push((*accumulator, shape));
            }
        }
        let open = self.open_space(space);
        self.clear(&clear(0));
        self.statements(body);
        let elements = self.results(body);
        let params = self.define_all(&op.params);
        let (left, right) = params.split_at(accumulators.len().min(params.len()));
        for (param, element) in right.iter().zip(elements) {
            self.emit(Inst::Move { dst: *param, src: element });
        }
        for (param, accumulator) in left.iter().zip(&accumulators) {
            self.emit(Inst::Move { dst: *param, src: Operand::take(*accumulator) });
        }
        self.clear(&clear(1));
        self.block_into(&op.body, &accumulators);
        for (accumulator, shape) in &shapes {
            self.emit(Inst::CheckShape { array: *accumulator, shape: *shape });
        }
        for (builder, accumulator) in builders.iter().zip(&accumulators) {
            self.emit(Inst::BuildPush { builder: *builder, value: Operand::register(*accumulator) });
        }
        self.close_space(open);
        for (_, shape) in shapes {
            self.release(&[shape]);
        }
        self.accumulators = accumulators;
    }

    fn take_accumulators(&mut self) -> Vec<Register> {
        std::mem::take(&mut self.accumulators)
    }

    fn open_space(&mut self, space: &[Axis]) -> OpenSpace {
        let sizes: Vec<Operand> = space.iter().map(|axis| self.read(&axis.size)).collect();
        let sizes = self.list(&sizes);
        self.open();
        let bounds = self.temporaries(space.len());
        let mut indices = Vec::new();
        for axis in space {
            self.scalars.insert(axis.var);
            indices.push(self.bind(axis.var));
            // The space counts in this register: it is not free after the body's last use.
            self.owner.remove(&axis.var);
        }
        self.code.spaces.push(Space { indices, bounds: bounds.clone() });
        let space = self.code.spaces.len() as u32 - 1;
        let start = self.emit(Inst::SpaceStart { sizes, space, end: 0 });
        OpenSpace { space, start, body: self.here(), bounds }
    }

    fn close_space(&mut self, open: OpenSpace) {
        self.emit(Inst::SpaceNext { space: open.space, body: open.body });
        self.patch(open.start);
        self.close();
        self.release(&open.bounds);
    }

    /// How to build arrays of the type over `outer` axes; and whether there are values to push (units are none).
    fn build_spec(&mut self, ty: &Type, outer: usize, growing: bool) -> (u32, bool) {
        let (element, rank) = match ty {
            Type::Array(array) => (array.element.clone(), array.dims.len()),
            _ => (Element::Unit, outer),
        };
        let inner_rank = rank.saturating_sub(outer);
        let holds_values = element != Element::Unit || inner_rank > 0;
        self.code.builds.push(BuildSpec { element, inner_rank, growing });
        (self.code.builds.len() as u32 - 1, holds_values)
    }

    /// Stated sizes as operands, -1 where there is none.
    fn sizes(&mut self, sizes: &[Size]) -> List {
        let operands: Vec<Operand> = sizes
            .iter()
            .map(|size| match size {
                Size::Known(atom) => self.read(atom),
                Size::FromValue => self.constant(Const::I64(-1)),
            })
            .collect();
        self.list(&operands)
    }

    /// A builder for what a loop emits.
    pub(super) fn growing_builder(&mut self, builder: Register, sizes: &[Size], ty: &Type) {
        let (spec, _) = self.build_spec(ty, 1, true);
        let inner = self.sizes(sizes);
        let outer = self.list(&[]);
        self.emit(Inst::BuildStart { builder, spec, outer, inner });
    }

    fn slice_dims(&mut self, dims: &[SliceDim]) -> (Vec<DimKind>, Vec<Atom>) {
        let (mut kinds, mut atoms) = (Vec::new(), Vec::new());
        for dim in dims {
            match dim {
                SliceDim::Index(index) => {
                    kinds.push(DimKind::Index);
                    atoms.push(index.clone());
                }
                SliceDim::Range { start, count, stride } => {
                    kinds.push(DimKind::Range);
                    atoms.extend([start.clone(), count.clone(), stride.clone()]);
                }
            }
        }
        (kinds, atoms)
    }

    fn dims_id(&mut self, kinds: Vec<DimKind>) -> u32 {
        self.code.dims.push(kinds);
        self.code.dims.len() as u32 - 1
    }

    pub(super) fn array_op(&mut self, op: &Op, dying: &[Var], dst: &[Register]) {
        // A unit element binds nothing; the instruction still checks its index.
        let spare = dst.is_empty().then(|| self.temporary());
        let dst = dst.first().copied().or(spare).unwrap_or_default();
        match op {
            Op::ArrayLiteral { ty, elements, inner } => {
                let (spec, _) = self.build_spec(&ty.clone().array([Dim::Any]), 1, false);
                let inner = self.sizes(inner);
                let elements = self.operands(elements, dying);
                let elements = self.list(&elements);
                self.emit(Inst::ArrayLiteral { spec, elements, inner, dst });
            }
            Op::Index { array, indices } => {
                let operands = self.operands(std::iter::once(array).chain(indices), dying);
                let indices = self.list(&operands[1..]);
                self.emit(Inst::Index { dst, array: operands[0], indices });
            }
            Op::Slice { array, dims } => {
                let (kinds, atoms) = self.slice_dims(dims);
                let operands = self.operands(std::iter::once(array).chain(&atoms), dying);
                let (dims, rest) = (self.dims_id(kinds), self.list(&operands[1..]));
                self.emit(Inst::Slice { dst, array: operands[0], dims, operands: rest });
            }
            Op::Update { array, dims, value } => {
                let (kinds, atoms) = self.slice_dims(dims);
                // The value is read first, so that an array written into itself is not taken too early.
                let order: Vec<&Atom> = atoms.iter().chain([value, array]).collect();
                let operands = self.operands(order, dying);
                let (dims, rest) = (self.dims_id(kinds), self.list(&operands[..atoms.len()]));
                let (value, array) = (operands[atoms.len()], operands[atoms.len() + 1]);
                self.emit(Inst::Update { dst, array, dims, operands: rest, value });
            }
            Op::Transpose { array, permutation } => {
                let array = self.operands([array], dying)[0];
                let axes: Vec<Operand> = permutation.iter().map(|axis| Operand(*axis as u32)).collect();
                let permutation = self.list(&axes);
                self.emit(Inst::Transpose { dst, array, permutation });
            }
            Op::Reshape { array, dims } => {
                let operands = self.operands(std::iter::once(array).chain(dims), dying);
                let dims = self.list(&operands[1..]);
                self.emit(Inst::Reshape { dst, array: operands[0], dims });
            }
            Op::Concat { arrays } => {
                let arrays = self.operands(arrays, dying);
                let arrays = self.list(&arrays);
                self.emit(Inst::Concat { dst, arrays });
            }
            Op::Dim { array, axis } => {
                let array = self.operands([array], dying)[0];
                self.emit(Inst::Dim { dst, array, axis: *axis as u32 });
            }
            _ => {}
        }
        if let Some(spare) = spare {
            self.release(&[spare]);
        }
    }

    pub(super) fn accumulate(&mut self, handle: &Atom, path: &[PathStep], value: &Atom, dying: &[Var]) {
        let (mut kinds, mut atoms) = (Vec::new(), Vec::new());
        for step in path {
            match step {
                PathStep::Index(indices) => {
                    kinds.push(PathKind::Index(indices.len()));
                    atoms.extend(indices.iter().cloned());
                }
                PathStep::Slice(dims) => {
                    let (dims, operands) = self.slice_dims(dims);
                    kinds.push(PathKind::Slice(dims));
                    atoms.extend(operands);
                }
                PathStep::Payload { tag, field } => kinds.push(PathKind::Payload { tag: *tag, field: *field }),
            }
        }
        self.code.paths.push(kinds);
        let path = self.code.paths.len() as u32 - 1;
        let operands = self.operands(std::iter::once(handle).chain(&atoms).chain(std::iter::once(value)), dying);
        let list = self.list(&operands[1..=atoms.len()]);
        self.emit(Inst::Accumulate { handle: operands[0], path, operands: list, value: operands[atoms.len() + 1] });
    }
}
