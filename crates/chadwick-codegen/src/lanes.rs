//! What a loop is made of whose iterations could go side by side: straight statements, and loops that run as often in every iteration.
//!
//! Each straight part is done for a group of iterations before the next one begins. What an iteration has for itself from one part to
//! another has a place for each of the group, and so has each element of arrays that live no longer than an iteration.

use crate::ir::*;
use crate::parallel::{for_each_assignment, for_each_exp, for_each_stm};
use chadwick_core::{BinaryOp, Prim, PrimOp, UnaryOp};
use rustc_hash::FxHashSet;

/// A part of the body of a loop.
#[derive(Debug)]
pub(crate) enum Part<'b> {
    Straight(Vec<&'b Stm>),
    Addition(Addition<'b>),
    Function(Function),
    Loop {
        counter: Local,
        bound: &'b Exp,
        mark: &'b Mark,
        parts: Vec<Part<'b>>,
    },
    /// A look at the clock.
    Tick(&'b Stm),
    /// Memory for an array that lives no longer than an iteration.
    Memory(&'b Stm),
    /// What ends its life.
    End(&'b Stm),
}

/// A function that is computed for all iterations of a group at once, from numbers of theirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    pub name: &'static str,
    pub prim: Prim,
    pub from: Local,
    pub to: Local,
}

/// What is added to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addition<'b> {
    pub stm: &'b Stm,
    pub place: &'b Exp,
    pub prim: Prim,
    pub summand: &'b Exp,
    /// Whether it is the same place for all iterations.
    pub is_common: bool,
    /// Whether neighbouring iterations have neighbouring places.
    pub is_beside: bool,
    /// Whether it can as well be added later.
    pub can_wait: bool,
}

/// The parts of a body, and what is known of its locals.
pub(crate) struct Body<'b> {
    pub parts: Vec<Part<'b>>,
    /// Locals that are the same for all iterations, or places beside an iteration's own, and how they are made.
    pub common: Vec<(Local, &'b Stm)>,
    /// Arrays that live no longer than an iteration.
    pub memory: FxHashSet<Local>,
    /// Whether there are loops in loops, or loops that add to places, and what they read and change lies side by side for neighbouring iterations; or a
    /// sum over columns.
    pub works_beside: bool,
}

/// How far from each other neighbouring iterations read or change an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stride {
    Zero,
    One,
    Other,
}

/// What is known of a function of the program.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub locals: &'a [LocalInfo],
    /// Scalars that are only added to.
    pub sums: &'a FxHashSet<Local>,
    /// Whether functions are those of the C library.
    pub strict: bool,
}

/// What parts are told from one another by.
struct Locals<'a> {
    /// The index of the loop.
    row: Local,
    /// What an iteration has for itself.
    own: FxHashSet<Local>,
    /// Of that, places beside the iteration's own.
    places: FxHashSet<Local>,
    assigned: FxHashSet<Local>,
    known: Known<'a>,
}

impl Locals<'_> {
    /// The place, type and summand of a statement that adds something to a sum.
    fn addition_to_sum<'b>(&self, stm: &'b Stm) -> Option<(&'b Exp, Prim, &'b Exp)> {
        match stm {
            Stm::Assign(local, Exp::Prim(PrimOp::Binary(BinaryOp::Add, prim), args)) => match args.as_slice() {
                [sum, more] if *sum == Exp::Local(*local) && self.known.sums.contains(local) && !self.own.contains(local) => {
                    Some((sum, *prim, more))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a statement changes a total from outside, from numbers that stay as they are, and nothing behind it knows of that.
    fn is_last_of_total(&self, stm: &Stm, behind: &[Stm]) -> bool {
        let Stm::Assign(total, exp) = stm else { return false };
        if self.own.contains(total) || self.known.sums.contains(total) {
            return false;
        }
        let mut stays = true;
        exp.for_each_local(&mut |local| stays &= local == *total || !self.assigned.contains(&local));
        let mut is_named = false;
        for_each_stm(behind, &mut |stm| is_named |= stm.names(*total));
        stays && !is_named
    }

    fn function(&self, stm: &Stm) -> Option<Function> {
        let Stm::Let(to, Exp::Prim(PrimOp::Unary(op, prim @ (Prim::F32 | Prim::F64)), args)) = stm else { return None };
        let name = match op {
            UnaryOp::Sin => "sin",
            UnaryOp::Cos => "cos",
            UnaryOp::Tan => "tan",
            _ => return None,
        };
        match args.as_slice() {
            [Exp::Local(from)] if self.own.contains(from) && !self.known.strict => {
                Some(Function { name, prim: *prim, from: *from, to: *to })
            }
            _ => None,
        }
    }
}

impl<'b> Body<'b> {
    /// The parts of the body of a loop with this index, if it has no others.
    pub fn of(index: Local, body: &'b [Stm], known: Known<'_>) -> Option<Body<'b>> {
        let mut assigned = FxHashSet::default();
        for_each_stm(body, &mut |stm| {
            for_each_assignment(stm, &mut |local| {
                assigned.insert(local);
            });
        });
        let mut result = Body { parts: Vec::new(), common: Vec::new(), memory: FxHashSet::default(), works_beside: false };
        let (own, places) = (FxHashSet::from_iter([index]), FxHashSet::from_iter([index]));
        let mut locals = Locals { row: index, own, places, assigned, known };
        result.learn(body, &mut locals);
        result.parts = result.block(body, &locals, true)?;
        let is_loop = |part: &&Part<'_>| matches!(part, Part::Loop { .. });
        result.works_beside = match result.parts.iter().filter(is_loop).collect::<Vec<_>>().as_slice() {
            [only] if result.reads_columns(only, &locals) => true,
            loops => loops.iter().any(|part| is_nest(part)) && loops.iter().all(|part| result.is_beside(part, &locals)),
        };
        Some(result)
    }

    /// Whether a loop reads and changes nothing but what lies side by side for neighbouring iterations, or is the same for all.
    fn is_beside(&self, part: &Part<'b>, locals: &Locals<'_>) -> bool {
        let Part::Loop { parts, .. } = part else { return true };
        let mut all = true;
        let is_private = |data: &Exp| matches!(data, Exp::Local(data) if self.memory.contains(data));
        let is_near = |data: &Exp, at: &Exp| {
            is_private(data) || !mentions_any(data, &locals.own) && self.stride(at, locals) != Stride::Other
        };
        for_each_straight(parts, &mut |part| match part {
            Part::Straight(stms) => {
                for stm in stms {
                    for_each_stm(std::slice::from_ref(stm), &mut |stm| {
                        for_each_exp(stm, &mut |exp| for_each_load(exp, &mut |data, at| all &= is_near(data, at)));
                        if let Stm::Store { data, at, .. } = stm {
                            all &= is_near(data, at);
                        }
                    });
                }
            }
            Part::Addition(addition) => {
                for_each_load(addition.summand, &mut |data, at| all &= is_near(data, at));
                all &= addition.is_common || addition.is_beside;
            }
            _ => {}
        });
        all
    }

    /// Whether a sum reads what lies side by side for neighbouring iterations, and nothing else that depends on the iteration.
    fn reads_columns(&self, part: &Part<'b>, locals: &Locals<'_>) -> bool {
        let Part::Loop { mark: Mark::Reduction(_), parts, .. } = part else { return false };
        let [Part::Straight(stms)] = parts.as_slice() else { return false };
        let (mut some, mut all) = (false, true);
        for stm in stms {
            for_each_exp(stm, &mut |exp| {
                for_each_load(exp, &mut |data, at| match self.stride(at, locals) {
                    _ if mentions_any(data, &locals.own) => all = false,
                    Stride::Zero => {}
                    Stride::One => some = true,
                    Stride::Other => all = false,
                })
            });
        }
        some && all
    }

    /// How far apart a place is for neighbouring iterations.
    fn stride(&self, at: &Exp, locals: &Locals<'_>) -> Stride {
        let both = |a: &Exp, b: &Exp| (self.stride(a, locals), self.stride(b, locals));
        let sum = |strides: (Stride, Stride)| match strides {
            (Stride::Zero, other) | (other, Stride::Zero) => other,
            _ => Stride::Other,
        };
        match at {
            Exp::Const(_) => Stride::Zero,
            Exp::Local(local) if *local == locals.row => Stride::One,
            Exp::Local(local) => match self.common.iter().find(|(known, _)| known == local) {
                Some((_, Stm::Let(_, exp))) => self.stride(exp, locals),
                _ if locals.own.contains(local) => Stride::Other,
                _ => Stride::Zero,
            },
            Exp::Add(a, b) => sum(both(a, b)),
            Exp::Sub(a, b) if self.stride(b, locals) == Stride::Zero => self.stride(a, locals),
            Exp::Prim(PrimOp::Binary(BinaryOp::Add, Prim::I64), args) if args.len() == 2 => sum(both(&args[0], &args[1])),
            Exp::Prim(PrimOp::Binary(BinaryOp::Sub, Prim::I64), args) if args.len() == 2 => match both(&args[0], &args[1]) {
                (stride, Stride::Zero) => stride,
                _ => Stride::Other,
            },
            exp => {
                let mut all = Stride::Zero;
                exp.for_each_child(&mut |child| {
                    if self.stride(child, locals) != Stride::Zero {
                        all = Stride::Other;
                    }
                });
                all
            }
        }
    }

    /// Notes what a body makes for each iteration, and what for all of them.
    fn learn(&mut self, body: &'b [Stm], locals: &mut Locals<'_>) {
        for stm in body {
            let Locals { own, places, assigned, known, .. } = locals;
            match stm {
                Stm::Let(local, exp) => {
                    let is_place = !assigned.contains(local) && known.locals[local.0 as usize].ty == Ty::Prim(Prim::I64);
                    let is_common = is_place && is_arithmetic(exp) && !mentions_any(exp, own);
                    let is_beside = is_place && is_sum(exp) && {
                        let mut all = true;
                        exp.for_each_local(&mut |it| all &= !own.contains(&it) || places.contains(&it));
                        all
                    };
                    if is_common || is_beside {
                        self.common.push((*local, stm));
                    }
                    if !is_common {
                        own.insert(*local);
                    }
                    if is_beside {
                        places.insert(*local);
                    }
                }
                Stm::Declare(local) => _ = own.insert(*local),
                Stm::Alloc { owner, data, .. } => own.extend([*owner, *data]),
                Stm::Room { data, .. } => _ = own.insert(*data),
                Stm::For { body, .. } => self.learn(body, locals),
                Stm::If { then, otherwise, .. } => own.extend(then.iter().chain(otherwise).filter_map(|stm| match stm {
                    Stm::Let(local, _) => Some(*local),
                    _ => None,
                })),
                _ => {}
            }
        }
    }

    /// Totals, and what is added to places that are not read, come as late as they can, so that there are fewer parts.
    fn block(&mut self, body: &'b [Stm], locals: &Locals<'_>, outermost: bool) -> Option<Vec<Part<'b>>> {
        let (mut parts, mut straight, mut additions, mut late) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let end = |parts: &mut Vec<Part<'b>>, straight: &mut Vec<&'b Stm>, additions: &mut Vec<Part<'b>>| {
            if !straight.is_empty() {
                parts.push(Part::Straight(std::mem::take(straight)));
            }
            parts.append(additions);
        };
        for (at, stm) in body.iter().enumerate() {
            if outermost && locals.is_last_of_total(stm, &body[at + 1..]) {
                late.push(stm);
                continue;
            }
            if let Some((place, prim, summand)) = addition(stm).or_else(|| locals.addition_to_sum(stm)) {
                let is_common = !mentions_any(place, &locals.own);
                let changes = mentions_any(summand, &locals.assigned);
                let is_beside = match place {
                    Exp::Deref(pointer) => match &**pointer {
                        Exp::At(data, at) => !mentions_any(data, &locals.own) && self.stride(at, locals) == Stride::One,
                        _ => false,
                    },
                    _ => false,
                };
                let can_wait = !changes;
                additions.push(Part::Addition(Addition { stm, place, prim, summand, is_common, is_beside, can_wait }));
                if changes {
                    end(&mut parts, &mut straight, &mut additions);
                }
                continue;
            }
            if let Some(function) = locals.function(stm) {
                end(&mut parts, &mut straight, &mut additions);
                parts.push(Part::Function(function));
                continue;
            }
            let part = match stm {
                Stm::If { then, otherwise, .. } if then.iter().chain(otherwise).all(makes_values) => {
                    straight.push(stm);
                    continue;
                }
                Stm::Let(..) | Stm::Declare(_) | Stm::Comment(_) | Stm::Store { .. } | Stm::Assign(..) => {
                    straight.push(stm);
                    continue;
                }
                Stm::For { index, bound, body, mark, .. } => {
                    Part::Loop { counter: *index, bound, mark, parts: self.block(body, locals, false)? }
                }
                Stm::Alloc { data, elem: Elem::Prim(_), .. } | Stm::Room { data, elem: Elem::Prim(_), .. } if outermost => {
                    self.memory.insert(*data);
                    Part::Memory(stm)
                }
                Stm::Release(..) if outermost => Part::End(stm),
                Stm::Tick(_) => Part::Tick(stm),
                _ => return None,
            };
            end(&mut parts, &mut straight, &mut additions);
            parts.push(part);
        }
        straight.append(&mut late);
        end(&mut parts, &mut straight, &mut additions);
        Some(parts)
    }

    /// Which of the parts is the last straight one.
    pub fn last(&self) -> Option<usize> {
        self.parts.iter().rposition(|part| matches!(part, Part::Straight(_)))
    }

    /// Locals that one straight part makes and another one reads or changes.
    pub fn crossing(&self) -> Vec<Local> {
        let mut straight = Vec::new();
        for_each_straight(&self.parts, &mut |part| straight.push(part));
        let mut found = Vec::new();
        for (number, part) in straight.iter().enumerate() {
            let stms = match part {
                Part::Straight(stms) => stms,
                Part::Function(function) => {
                    found.push(function.to);
                    continue;
                }
                _ => continue,
            };
            for stm in stms {
                let (Stm::Let(local, _) | Stm::Declare(local)) = *stm else { continue };
                let is_common = self.common.iter().any(|(common, _)| common == local);
                let others = || straight.iter().enumerate().filter(|(other, _)| *other != number);
                if !is_common && others().any(|(_, part)| part.names(*local)) {
                    found.push(*local);
                }
            }
        }
        found
    }
}

impl Part<'_> {
    /// Whether a straight part or an addition reads or changes a local.
    pub fn names(&self, local: Local) -> bool {
        match self {
            Part::Straight(stms) => stms.iter().any(|stm| stm.names(local)),
            Part::Addition(addition) => addition.stm.names(local),
            Part::Function(function) => function.from == local,
            _ => false,
        }
    }
}

/// Does something to each straight part, addition and function, in their order.
pub(crate) fn for_each_straight<'p, 'b>(parts: &'p [Part<'b>], visit: &mut dyn FnMut(&'p Part<'b>)) {
    for part in parts {
        match part {
            Part::Straight(_) | Part::Addition(_) | Part::Function(_) => visit(part),
            Part::Loop { parts, .. } => for_each_straight(parts, visit),
            Part::Memory(_) | Part::End(_) | Part::Tick(_) => {}
        }
    }
}

/// Whether a part is a loop with another one inside, or one that adds to places. One that sums for its own iteration, and adds to places that are those of
/// all, is a loop in vectors itself.
fn is_nest(part: &Part<'_>) -> bool {
    let Part::Loop { parts, mark, .. } = part else { return false };
    let sums = matches!(mark, Mark::Reduction(_));
    parts.iter().any(|part| match part {
        Part::Loop { .. } => true,
        Part::Addition(addition) => !(sums && addition.is_common),
        _ => false,
    })
}

fn for_each_load<'e>(exp: &'e Exp, visit: &mut dyn FnMut(&'e Exp, &'e Exp)) {
    if let Exp::Load(data, at) | Exp::At(data, at) = exp {
        visit(data, at);
    }
    exp.for_each_child(&mut |child| for_each_load(child, visit));
}

/// Whether an array is only read and written element by element.
pub(crate) fn is_used_by_element(body: &[Stm], data: Local) -> bool {
    fn all(exp: &Exp, data: Local) -> usize {
        let mut count = 0;
        exp.for_each_local(&mut |local| count += usize::from(local == data));
        count
    }
    fn elements(exp: &Exp, data: Local) -> usize {
        let mut count = usize::from(matches!(exp, Exp::Load(array, _) if **array == Exp::Local(data)));
        exp.for_each_child(&mut |child| count += elements(child, data));
        count
    }
    let (mut uses, mut fits) = (0, 0);
    for_each_stm(body, &mut |stm| {
        for_each_exp(stm, &mut |exp| {
            uses += all(exp, data);
            fits += elements(exp, data);
        });
        fits += usize::from(matches!(stm, Stm::Store { data: Exp::Local(local), .. } if *local == data));
    });
    uses == fits
}

/// The place, type and summand of a statement that adds something to a place.
pub(crate) fn addition(stm: &Stm) -> Option<(&Exp, Prim, &Exp)> {
    match stm {
        Stm::Put { place, value: Exp::Prim(PrimOp::Binary(BinaryOp::Add, prim), args) } => match args.as_slice() {
            [old, more] if old == place => Some((place, *prim, more)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a statement does nothing but give values to locals.
fn makes_values(stm: &Stm) -> bool {
    matches!(stm, Stm::Let(..) | Stm::Comment(_) | Stm::Assign(..))
}

/// Whether an expression is arithmetic on locals and constants.
fn is_arithmetic(exp: &Exp) -> bool {
    match exp {
        Exp::Local(_) | Exp::Const(_) => true,
        Exp::Add(..) | Exp::Sub(..) | Exp::Mul(..) | Exp::AtLeastZero(_) | Exp::Prim(..) => {
            let mut all = true;
            exp.for_each_child(&mut |child| all &= is_arithmetic(child));
            all
        }
        _ => false,
    }
}

/// Whether an expression is made of sums and products of locals and constants, which cost less than to keep them.
fn is_sum(exp: &Exp) -> bool {
    let light = match exp {
        Exp::Prim(PrimOp::Binary(op, Prim::I64), _) => matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
        exp => matches!(exp, Exp::Local(_) | Exp::Const(_) | Exp::Add(..) | Exp::Sub(..) | Exp::Mul(..)),
    };
    let mut all = light;
    exp.for_each_child(&mut |child| all &= is_sum(child));
    all
}

fn mentions_any(exp: &Exp, wanted: &FxHashSet<Local>) -> bool {
    let mut found = false;
    exp.for_each_local(&mut |local| found |= wanted.contains(&local));
    found
}
