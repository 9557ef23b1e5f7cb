//! Loops that read what the one before them made a little to the left or to the right run tile by tile.
//!
//! The stages of a time step, the filters of a signal: every loop runs over the same range and reads neighbours, `xs[i - 1]`, so the loops
//! cannot be one. One after the other they carry whole arrays to memory and back. Here all of them run on one tile of the range, then on the
//! next; an array that only they read has room for a tile and lives in the nearest cache. A stage computes the few elements beyond its tile
//! that the stages behind it read, so tiles know nothing of each other and can still be cut into chunks.

use crate::ir::*;
use chadwick_core::{BinaryOp, Prim, PrimOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The lengths of tiles, the longest that fits first.
const LENGTHS: [i64; 3] = [512, 256, 128];

/// Bytes that the arrays of a tile may take up.
const MOST_BYTES: i64 = 32 * 1024;

/// How many elements beyond a tile may be computed on either side.
const MOST_BEYOND: i64 = 16;

/// How many statements are looked at for one chain of stages.
const MOST_STATEMENTS: usize = 256;

/// Cuts chains of loops into tiles.
pub(crate) fn tile(functions: &mut [(usize, Function)]) {
    // Room for tiles is in the frame of the function: deep recursion needs small ones.
    for (_, function) in functions.iter_mut().filter(|(_, function)| !function.recursive) {
        let body = std::mem::take(&mut function.body);
        let rows = std::mem::take(&mut function.rows);
        function.body = Tiler { locals: &mut function.locals, rows: &rows }.block(body);
        function.rows = rows;
    }
}

struct Tiler<'a> {
    locals: &'a mut Vec<LocalInfo>,
    rows: &'a FxHashSet<Local>,
}

/// One loop of a chain.
struct Stage {
    index: Local,
    body: Vec<Stm>,
    /// The arrays it makes.
    makes: Vec<Local>,
    /// The arrays of earlier stages that it reads, and how far from its own place.
    reads: Vec<(Local, i64)>,
    /// How many elements beyond the tile it computes, to the left and to the right.
    beyond: (i64, i64),
    comments: Vec<Stm>,
}

/// Elements from one place to another, and how many that is at most.
struct Range {
    from: Exp,
    to: Exp,
    most: i64,
}

/// Loops in a row, with what stands between them.
#[derive(Default)]
struct Chain {
    bound: Option<Exp>,
    stages: Vec<Stage>,
    /// Arrays that come into being here, with their statements.
    fresh: Vec<(Local, Stm)>,
    /// Sizes and the like, which come first.
    ahead: Vec<Stm>,
    /// Owners that are released, which comes last.
    released: Vec<Stm>,
    /// What stands in front of the next stage.
    comments: Vec<Stm>,
}

impl Tiler<'_> {
    fn block(&mut self, stms: Vec<Stm>) -> Vec<Stm> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut waiting: Vec<Stm> = stms.into_iter().map(|stm| self.inside(stm)).rev().collect();
            let mut out = Vec::with_capacity(waiting.len());
            while let Some(stm) = waiting.last() {
                let found = match stm {
                    Stm::Alloc { .. } | Stm::For { .. } => self.chain(&waiting),
                    _ => None,
                };
                match found {
                    Some((chain, count)) => {
                        waiting.truncate(waiting.len() - count);
                        self.tiled(chain, &mut out);
                    }
                    None => out.extend(waiting.pop()),
                }
            }
            out
        })
    }

    fn inside(&mut self, stm: Stm) -> Stm {
        match stm {
            Stm::For { index, bound, body, mark, independent } => {
                Stm::For { index, bound, body: self.block(body), mark, independent }
            }
            Stm::Forever(body) => Stm::Forever(self.block(body)),
            Stm::Fork(fork) => {
                let (left, right) = (self.block(fork.left), self.block(fork.right));
                Stm::Fork(Box::new(Fork { left, right, connections: fork.connections }))
            }
            Stm::If { condition, then, otherwise } => {
                Stm::If { condition, then: self.block(then), otherwise: self.block(otherwise) }
            }
            Stm::Switch { tag, cases, otherwise } => {
                let cases = cases.into_iter().map(|(tag, stms)| (tag, self.block(stms))).collect();
                Stm::Switch { tag, cases, otherwise: self.block(otherwise) }
            }
            other => other,
        }
    }

    /// The chain at the end of a list in reverse order, and how many statements it takes; only if tiles are worth it.
    fn chain(&self, waiting: &[Stm]) -> Option<(Chain, usize)> {
        let mut chain = Chain::default();
        // What was looked at behind the last stage or release is none of the chain's business.
        let (mut count, mut lengths) = (0, (0, 0, 0));
        for (at, stm) in waiting.iter().rev().take(MOST_STATEMENTS).enumerate() {
            match stm {
                Stm::Comment(_) => chain.comments.push(stm.clone()),
                Stm::Let(local, exp) if self.is_number(*local) && is_arithmetic(exp) => chain.ahead.push(stm.clone()),
                Stm::Alloc { data, elem: Elem::Prim(_), dims, zeroed: false, .. } if dims.len() == 1 => {
                    chain.fresh.push((*data, stm.clone()));
                }
                Stm::Release(Exp::Local(_), Counted::Block(_)) => chain.released.push(stm.clone()),
                Stm::For { index, bound, body, mark: Mark::Independent, independent: Some(totals) } if totals.is_empty() => {
                    let Some(mut stage) = self.stage(&chain, *index, body) else { break };
                    if chain.bound.as_ref().is_some_and(|known| known != bound) {
                        break;
                    }
                    stage.comments = std::mem::take(&mut chain.comments);
                    chain.bound = Some(bound.clone());
                    chain.stages.push(stage);
                }
                _ => break,
            }
            if matches!(stm, Stm::For { .. } | Stm::Release(..)) {
                (count, lengths) = (at + 1, (chain.ahead.len(), chain.fresh.len(), chain.comments.len()));
            }
        }
        chain.ahead.truncate(lengths.0);
        chain.fresh.truncate(lengths.1);
        chain.comments.truncate(lengths.2);
        let own: Vec<Local> = chain.fresh.iter().map(|(data, _)| *data).collect();
        let has_neighbours = chain.stages.iter().flat_map(|stage| &stage.reads).any(|(array, _)| own.contains(array));
        let fits = chain.are_whole() && chain.set_beyond();
        (has_neighbours && fits && !chain.locals().is_empty()).then_some((chain, count))
    }

    /// Another name for an array would hide who reads it.
    fn is_number(&self, local: Local) -> bool {
        matches!(self.locals[local.0 as usize].ty, Ty::Prim(_))
    }

    /// A loop as the next stage: all that it does is to make elements of new arrays, in their places.
    fn stage(&self, chain: &Chain, index: Local, body: &[Stm]) -> Option<Stage> {
        let mut definitions = FxHashMap::default();
        collect_definitions(body, &mut definitions);
        let made: FxHashSet<Local> = chain.stages.iter().flat_map(|stage| stage.makes.iter().copied()).collect();
        let mut stage =
            Stage { index, body: body.to_vec(), makes: Vec::new(), reads: Vec::new(), beyond: (0, 0), comments: Vec::new() };
        let mut fits = true;
        for stm in body {
            if let Stm::Store { data, at, .. } = stm {
                let Exp::Local(array) = data else { return None };
                let is_new = self.rows.contains(array) || chain.fresh.iter().any(|(data, _)| data == array);
                if !is_new || *at != Exp::Local(index) || made.contains(array) || stage.makes.contains(array) {
                    return None;
                }
                stage.makes.push(*array);
            }
            fits &= !matches!(stm, Stm::Put { .. });
        }
        for_each_part(body, &mut |exp, is_stored_to| match exp {
            Exp::Load(data, at) if matches!(**data, Exp::Local(array) if made.contains(&array)) => {
                let (Exp::Local(array), Some(shift)) = (&**data, distance(at, index, &definitions)) else {
                    fits = false;
                    return;
                };
                stage.reads.push((*array, shift));
            }
            // Any other use of an array is none that tiles could serve.
            Exp::Local(array) if !is_stored_to && made.contains(array) => fits = false,
            _ => {}
        });
        let continues = chain.stages.is_empty() || !stage.reads.is_empty();
        (fits && continues && !stage.makes.is_empty()).then_some(stage)
    }

    fn local(&mut self, name: &str, ty: Ty) -> Local {
        self.locals.push(LocalInfo { name: name.to_owned(), ty });
        Local(self.locals.len() as u32 - 1)
    }

    fn named(&mut self, name: &str, exp: Exp, out: &mut Vec<Stm>) -> Exp {
        if matches!(exp, Exp::Local(_) | Exp::Const(_)) {
            return exp;
        }
        let local = self.local(name, Ty::Prim(Prim::I64));
        out.push(Stm::Let(local, exp));
        Exp::Local(local)
    }

    /// The statements of a chain: what is needed ahead, a loop over tiles, what is released.
    fn tiled(&mut self, chain: Chain, out: &mut Vec<Stm>) {
        let (Some(length), Some(bound)) = (chain.length(), chain.bound.clone()) else { return };
        let own = chain.locals();
        out.extend(chain.ahead.iter().cloned());
        out.extend(chain.fresh.iter().filter(|(data, _)| !own.contains(data)).map(|(_, stm)| stm.clone()));

        let tile = self.local("tile", Ty::Prim(Prim::I64));
        let mut body = Vec::new();
        let start = self.named("from", Exp::Local(tile).mul(Exp::i64(length)), &mut body);
        let least = |a: Exp, b: Exp| Exp::Runtime("cw_least", vec![a, b]);
        let end = self.named("to", least(start.clone().add(Exp::i64(length)), bound.clone()), &mut body);
        // Where an array of a tile has its elements, and the number of the first one.
        let mut rooms: FxHashMap<Local, (Local, Exp)> = FxHashMap::default();
        for stage in &chain.stages {
            let (left, right) = stage.beyond;
            for array in stage.makes.iter().filter(|array| chain.has_room(stage, **array)) {
                let Ty::Data(elem) = self.locals[array.0 as usize].ty else { continue };
                let name = self.locals[array.0 as usize].name.clone();
                let room = self.local(&name, Ty::Data(elem));
                body.push(Stm::Room { data: room, elem, count: length + left + right });
                rooms.insert(*array, (room, start.clone().sub(Exp::i64(left))));
            }
        }
        for stage in &chain.stages {
            body.extend(stage.comments.iter().cloned());
            let (left, right) = stage.beyond;
            let first = match left {
                0 => start.clone(),
                _ => self.named("from", start.clone().sub(Exp::i64(left)).at_least_zero(), &mut body),
            };
            let last = match right {
                0 => end.clone(),
                _ => self.named("to", least(end.clone().add(Exp::i64(right)), bound.clone()), &mut body),
            };
            // Elements beyond the tile belong to its neighbours, who write them.
            let writes = stage.makes.iter().any(|array| !own.contains(array));
            match writes && (left, right) != (0, 0) {
                false => {
                    let range = Range { from: first, to: last, most: left + length + right };
                    self.part(stage, &rooms, range, &own, true, &mut body);
                }
                true => {
                    let (from, to) = (start.clone(), end.clone());
                    self.part(stage, &rooms, Range { from: first, to: from.clone(), most: left }, &own, false, &mut body);
                    self.part(stage, &rooms, Range { from, to: to.clone(), most: length }, &own, true, &mut body);
                    self.part(stage, &rooms, Range { from: to, to: last, most: right }, &own, false, &mut body);
                }
            }
        }
        let tiles = Exp::Runtime("cw_tiles", vec![bound, Exp::i64(length)]);
        let tiles = self.named("tiles", tiles, out);
        out.push(Stm::For { index: tile, bound: tiles, body, mark: Mark::Sequential, independent: Some(Vec::new()) });
        let is_room = |stm: &Stm| chain.fresh.iter().any(|(data, alloc)| own.contains(data) && released_by(stm, alloc));
        out.extend(chain.released.iter().filter(|stm| !is_room(stm)).cloned());
        out.extend(chain.comments);
    }

    /// A stage on a part of the range. `writes`: to arrays that are not the tile's own as well.
    fn part(
        &mut self,
        stage: &Stage,
        rooms: &FxHashMap<Local, (Local, Exp)>,
        Range { from, to, most }: Range,
        own: &FxHashSet<Local>,
        writes: bool,
        out: &mut Vec<Stm>,
    ) {
        if most == 0 {
            return;
        }
        // The number changes nothing but what is known about the work.
        let count = Exp::Runtime("cw_least", vec![Exp::i64(most), to.sub(from.clone())]);
        let bound = self.named("count", count, out);
        let index = self.local("k", Ty::Prim(Prim::I64));
        let mut body = vec![Stm::Let(stage.index, from.add(Exp::Local(index)))];
        for stm in &stage.body {
            let mut stm = in_rooms(stm.clone(), rooms);
            if let Stm::Store { data: Exp::Local(array), at, value } = &mut stm {
                let stored = *array;
                if let Some((room, first)) = rooms.get(&stored) {
                    let at = at.clone().sub(first.clone());
                    body.push(Stm::Store { data: Exp::Local(*room), at, value: value.clone() });
                }
                if !writes || own.contains(&stored) {
                    continue;
                }
            }
            body.push(stm);
        }
        out.push(Stm::For { index, bound, body, mark: Mark::Independent, independent: None });
    }
}

impl Chain {
    /// Arrays that nobody has behind the chain.
    fn locals(&self) -> FxHashSet<Local> {
        let is_made = |data: &Local| self.stages.iter().any(|stage| stage.makes.contains(data));
        let is_released = |alloc: &Stm| self.released.iter().any(|stm| released_by(stm, alloc));
        self.fresh.iter().filter(|(data, alloc)| is_made(data) && is_released(alloc)).map(|(data, _)| *data).collect()
    }

    /// Whether the stages make all elements of their arrays.
    fn are_whole(&self) -> bool {
        let is_made = |data: &Local| self.stages.iter().any(|stage| stage.makes.contains(data));
        let is_whole = |alloc: &Stm| matches!(alloc, Stm::Alloc { dims, .. } if dims.first() == self.bound.as_ref());
        self.fresh.iter().filter(|(data, _)| is_made(data)).all(|(_, alloc)| is_whole(alloc))
    }

    /// Whether an array has room for a tile: nobody has it behind the chain, or its neighbours are read before they are written there.
    fn has_room(&self, stage: &Stage, array: Local) -> bool {
        self.locals().contains(&array) || (stage.beyond != (0, 0) && self.is_read(array))
    }

    fn is_read(&self, array: Local) -> bool {
        self.stages.iter().flat_map(|stage| &stage.reads).any(|(read, _)| *read == array)
    }

    /// Says how far beyond a tile each stage goes; whether that is not too far.
    fn set_beyond(&mut self) -> bool {
        for at in (0..self.stages.len()).rev() {
            let (mut left, mut right) = (0, 0);
            for later in &self.stages[at + 1..] {
                for (_, shift) in later.reads.iter().filter(|(array, _)| self.stages[at].makes.contains(array)) {
                    left = left.max(later.beyond.0.saturating_sub(*shift));
                    right = right.max(later.beyond.1.saturating_add(*shift));
                }
            }
            if left.max(right) > MOST_BEYOND {
                return false;
            }
            self.stages[at].beyond = (left, right);
        }
        self.length().is_some()
    }

    fn length(&self) -> Option<i64> {
        let made = self.stages.iter().flat_map(|stage| stage.makes.iter().map(move |array| (stage, *array)));
        let arrays = made.filter(|(stage, array)| self.has_room(stage, *array)).count() as i64;
        LENGTHS.into_iter().find(|length| arrays * (length + 2 * MOST_BEYOND) * 8 <= MOST_BYTES)
    }
}

fn released_by(stm: &Stm, alloc: &Stm) -> bool {
    matches!((stm, alloc), (Stm::Release(Exp::Local(released), _), Stm::Alloc { owner, .. }) if released == owner)
}

/// Whether an expression is a number made of other numbers alone.
fn is_arithmetic(exp: &Exp) -> bool {
    match exp {
        Exp::Local(_) | Exp::Const(_) => true,
        Exp::Add(a, b) | Exp::Sub(a, b) | Exp::Mul(a, b) => is_arithmetic(a) && is_arithmetic(b),
        Exp::AtLeastZero(a) => is_arithmetic(a),
        Exp::Prim(_, args) => args.iter().all(is_arithmetic),
        _ => false,
    }
}

/// How far a position is from the index of its loop, where that is always the same.
fn distance(at: &Exp, index: Local, definitions: &FxHashMap<Local, &Exp>) -> Option<i64> {
    let sum = |a: &Exp, b: &Exp| match (a.as_i64(), b.as_i64()) {
        (Some(number), None) => distance(b, index, definitions)?.checked_add(number),
        (None, Some(number)) => distance(a, index, definitions)?.checked_add(number),
        _ => None,
    };
    let difference = |a: &Exp, b: &Exp| distance(a, index, definitions)?.checked_sub(b.as_i64()?);
    match at {
        Exp::Local(local) if *local == index => Some(0),
        Exp::Local(local) => distance(definitions.get(local)?, index, definitions),
        Exp::Add(a, b) => sum(a, b),
        Exp::Sub(a, b) => difference(a, b),
        Exp::Prim(PrimOp::Binary(BinaryOp::Add, Prim::I64), args) => match args.as_slice() {
            [a, b] => sum(a, b),
            _ => None,
        },
        Exp::Prim(PrimOp::Binary(BinaryOp::Sub, Prim::I64), args) => match args.as_slice() {
            [a, b] => difference(a, b),
            _ => None,
        },
        _ => None,
    }
}

fn collect_definitions<'a>(stms: &'a [Stm], found: &mut FxHashMap<Local, &'a Exp>) {
    for stm in stms {
        match stm {
            Stm::Let(local, exp) => {
                found.insert(*local, exp);
            }
            Stm::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|stms| collect_definitions(stms, found)),
            _ => {}
        }
    }
}

/// Visits every part of the expressions in a straight body, from outside in; the array of a load is not visited by itself. The flag says
/// whether a part is the array that a store goes to.
fn for_each_part(stms: &[Stm], visit: &mut dyn FnMut(&Exp, bool)) {
    for stm in stms {
        match stm {
            Stm::Let(_, exp) | Stm::Assign(_, exp) => visit_parts(exp, visit),
            Stm::Store { data, at, value } => {
                visit(data, true);
                visit_parts(at, visit);
                visit_parts(value, visit);
            }
            Stm::If { condition, then, otherwise } => {
                visit_parts(condition, visit);
                for_each_part(then, visit);
                for_each_part(otherwise, visit);
            }
            _ => {}
        }
    }
}

fn visit_parts(exp: &Exp, visit: &mut dyn FnMut(&Exp, bool)) {
    visit(exp, false);
    match exp {
        Exp::Load(data, at) => {
            if !matches!(**data, Exp::Local(_)) {
                visit_parts(data, visit);
            }
            visit_parts(at, visit);
        }
        other => other.for_each_child(&mut |child| visit_parts(child, visit)),
    }
}

/// The statement with what it reads of arrays of a tile where their room is.
fn in_rooms(stm: Stm, rooms: &FxHashMap<Local, (Local, Exp)>) -> Stm {
    let exp = |exp: Exp| {
        exp.rewritten(&|exp| match exp {
            Exp::Load(data, at) => match &*data {
                Exp::Local(array) if rooms.contains_key(array) => {
                    let (room, first) = &rooms[array];
                    Exp::load(Exp::Local(*room), at.sub(first.clone()))
                }
                _ => Exp::Load(data, at),
            },
            other => other,
        })
    };
    let block = |stms: Vec<Stm>| stms.into_iter().map(|stm| in_rooms(stm, rooms)).collect();
    match stm {
        Stm::Let(local, value) => Stm::Let(local, exp(value)),
        Stm::Assign(local, value) => Stm::Assign(local, exp(value)),
        Stm::Store { data, at, value } => Stm::Store { data, at, value: exp(value) },
        Stm::If { condition, then, otherwise } => {
            Stm::If { condition: exp(condition), then: block(then), otherwise: block(otherwise) }
        }
        other => other,
    }
}
