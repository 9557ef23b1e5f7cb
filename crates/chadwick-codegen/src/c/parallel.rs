//! Loops in chunks: a function for a chunk, a structure with what it reads, and the call that runs all chunks.

use super::text::FunctionText;
use super::{Printer, c_type, elem_name, operation};
use crate::ir::*;
use chadwick_core::{BinaryOp, Prim, PrimOp};
use std::fmt::Write;

/// A function whose text waits while another one is written, of which this much is known.
pub(super) struct Around {
    text: String,
    types: String,
    signature: String,
    returns: Option<super::Returned>,
    depth: &'static str,
    indent: usize,
}

impl Printer<'_> {
    pub(super) fn parallel(&mut self, parallel: &Parallel) {
        let name = format!("{}_loop{}", self.function.name, self.chunks_count);
        self.chunks_count += 1;
        self.chunk_names.insert(parallel.index, name.clone());
        self.chunk_function(&name, parallel);
        let (bound, work) = (self.exp(&parallel.bound), self.exp(&parallel.work));
        self.line("{");
        self.indent += 1;
        let chunks = self.chunks_of(parallel);
        self.line(&format!("int32_t chunks = {chunks};"));
        match parallel.often {
            true => {
                self.line("if (chunks == 1) {");
                self.indent += 1;
                self.independent_loop(parallel.index, "0", &bound, &parallel.body, &parallel.mark);
                self.indent -= 1;
                self.line("} else {");
                self.indent += 1;
                self.run_chunks(&name, parallel, &bound, &work);
                self.indent -= 1;
                self.line("}");
            }
            false => self.run_chunks(&name, parallel, &bound, &work),
        }
        self.indent -= 1;
        self.line("}");
    }

    /// How many chunks a loop has.
    pub(super) fn chunks_of(&mut self, parallel: &Parallel) -> String {
        let (bound, mut work) = (self.exp(&parallel.bound), self.exp(&parallel.work));
        if parallel.in_step {
            work = format!("cw_saturated_times({work}, 2)");
        }
        let own: Vec<String> = parallel.accumulators.iter().map(|accumulator| self.exp(&accumulator.count)).collect();
        let own = if own.is_empty() { String::from("0") } else { own.join(" + ") };
        let chunks = format!("cw_chunks({bound}, {work}, {own})");
        match parallel.mark {
            Mark::Lanes(..) => format!("cw_lane_chunks({chunks}, {bound})"),
            _ if parallel.in_vectors => format!("cw_vector_chunks({chunks})"),
            _ => chunks,
        }
    }

    /// The function for one chunk, in front of the function that has the loop.
    fn chunk_function(&mut self, name: &str, parallel: &Parallel) {
        let mut fields = String::new();
        let locals = parallel.captured.iter().chain(parallel.totals.iter().map(|(_, total)| total));
        for local in locals {
            let _ = writeln!(fields, "  {};", self.declare(*local));
        }
        for (_, total) in &parallel.totals {
            let (ty, name) = (self.scalar_type(*total), self.name(*total));
            let _ = writeln!(fields, "  {} part_{name}[CW_MAX_CHUNKS];", c_type(ty));
        }
        for Accumulator { data, elem, .. } in &parallel.accumulators {
            let (elem, name) = (elem_name(*elem, self.layouts), self.name(*data));
            let _ = writeln!(fields, "  {elem} *own_{name};\n  int64_t count_{name};");
        }
        let first = if matches!(parallel.mark, Mark::Lanes(..)) { "int64_t length" } else { "char unused" };
        let structure = format!("struct {name} {{\n  {first};\n{fields}}};\n\n");
        let parameters = "void *data, int32_t chunk, int64_t from, int64_t to";
        let around = self.begin_function(structure, &format!("{name}_chunk"), parameters);
        self.line(&format!("struct {name} *loop = data;"));
        let late = self.failure(parallel.site, "CW_DEADLINE");
        self.line(&format!("if (cw_is_late(ctx)) {late}"));
        for local in &parallel.captured {
            let (declared, name) = (self.declare(*local), self.name(*local));
            match parallel.accumulators.iter().find(|accumulator| accumulator.data == *local) {
                None => self.line(&format!("{declared} = loop->{name};")),
                Some(_) => {
                    self.line(&format!(
                        "{declared} = chunk == 0 ? loop->{name} : loop->own_{name} + (chunk - 1) * loop->count_{name};"
                    ));
                    self.line(&format!("if (chunk > 0) memset({name}, 0, (size_t)loop->count_{name} * sizeof *{name});"));
                }
            }
        }
        for (combine, total) in &parallel.totals {
            let (declared, name) = (self.declare(*total), self.name(*total));
            let neutral = super::constant(combine.neutral(self.scalar_type(*total)));
            self.line(&format!("{declared} = chunk == 0 ? loop->{name} : {neutral};"));
        }
        if let Mark::Lanes(..) = parallel.mark {
            self.line("from = cw_lane_start(from, loop->length);");
            self.line("to = cw_lane_start(to, loop->length);");
        }
        self.independent_loop(parallel.index, "from", "to", &parallel.body, &parallel.mark);
        for (_, total) in &parallel.totals {
            let name = self.name(*total);
            self.line(&format!("loop->part_{name}[chunk] = {name};"));
        }
        self.end_function(around);
    }

    /// What follows is the text of another function, in front of the one that is being written, with structures that it is given.
    pub(super) fn begin_function(&mut self, types: String, name: &str, parameters: &str) -> Around {
        Around {
            text: std::mem::replace(self.out, String::from("{\n")),
            types,
            signature: format!("int {name}(cw_context *ctx, {parameters})"),
            returns: self.returns.take(),
            depth: std::mem::replace(&mut self.depth, super::CONTEXT_DEPTH),
            indent: std::mem::replace(&mut self.indent, 1),
        }
    }

    pub(super) fn end_function(&mut self, around: Around) {
        self.line("return 0;");
        self.out.push_str("}\n\n");
        let Around { text, types, signature, .. } = around;
        (self.returns, self.depth, self.indent) = (around.returns, around.depth, around.indent);
        let text = std::mem::replace(self.out, text);
        self.printed.push(FunctionText { types, signature, text, ..FunctionText::default() });
    }

    fn run_chunks(&mut self, name: &str, parallel: &Parallel, bound: &str, work: &str) {
        self.describe_loop(name, parallel);
        for Accumulator { data, elem, count } in &parallel.accumulators {
            let (name, elem, count) = (self.name(*data), elem_name(*elem, self.layouts), self.exp(count));
            self.line(&format!("loop.count_{name} = {count};"));
            self.line(&format!(
                "cw_block *own_{name} = chunks == 1 ? NULL : cw_alloc(ctx, sizeof({elem}), 2, (const int64_t[]){{chunks - 1, {count}}}, false);"
            ));
            self.line(&format!("if (chunks > 1 && own_{name} == NULL) {}", self.failure(parallel.site, "CW_MEMORY")));
            self.line(&format!("loop.own_{name} = ({elem} *)(own_{name} + 1);"));
        }
        self.state_depth();
        let work = format!("cw_saturated_times({bound}, {work})");
        self.line(&format!("if (cw_run_loop(ctx, {name}_chunk, &loop, chunks, {bound}, {work})) {}", self.leave("1")));
        self.restore_depth();
        self.combine_totals(parallel, &|total, chunk| format!("loop.part_{total}[{chunk}]"));
        for Accumulator { data, elem, .. } in &parallel.accumulators {
            let name = self.name(*data);
            let Elem::Prim(prim) = elem else { continue };
            self.line(&format!("cw_merge_{}(ctx, {name}, loop.own_{name}, loop.count_{name}, chunks);", prim.name()));
            self.line(&format!("cw_release(ctx, own_{name});"));
        }
    }

    /// What the chunks of a loop read.
    pub(super) fn describe_loop(&mut self, name: &str, parallel: &Parallel) {
        self.line(&format!("struct {name} loop;"));
        if let Mark::Lanes(..) = parallel.mark {
            let bound = self.exp(&parallel.bound);
            self.line(&format!("loop.length = {bound};"));
        }
        for local in parallel.captured.iter().chain(parallel.totals.iter().map(|(_, total)| total)) {
            let name = self.name(*local);
            self.line(&format!("loop.{name} = {name};"));
        }
    }

    /// The totals of all chunks, in their order; what says where a chunk left its own.
    pub(super) fn combine_totals(&mut self, parallel: &Parallel, part: &dyn Fn(&str, &str) -> String) {
        for (combine, total) in &parallel.totals {
            let (name, prim) = (self.name(*total), self.scalar_type(*total));
            self.line(&format!("{name} = {};", part(&name, "0")));
            let next = combined(*combine, prim, &name, &part(&name, "chunk"));
            self.line(&format!("for (int32_t chunk = 1; chunk < chunks; chunk++) {name} = {next};"));
        }
    }

    pub(super) fn scalar_type(&self, local: Local) -> Prim {
        match self.function.locals[local.0 as usize].ty {
            Ty::Prim(prim) => prim,
            _ => Prim::I64,
        }
    }
}

fn combined(combine: Combine, prim: Prim, total: &str, part: &str) -> String {
    let binary = match combine {
        Combine::Add => BinaryOp::Add,
        Combine::Multiply => BinaryOp::Mul,
        Combine::And => BinaryOp::And,
        Combine::Or => BinaryOp::Or,
        Combine::Xor => BinaryOp::Xor,
        Combine::Minimum => BinaryOp::Min,
        Combine::Maximum => BinaryOp::Max,
    };
    operation(PrimOp::Binary(binary, prim), &[total.to_owned(), part.to_owned()])
}
