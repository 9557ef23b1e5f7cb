//! Loops of which threads may run all steps together: a function that every one of them runs, one that makes the arrays of a step, a structure with what
//! they share, and the call. The loop is also there as it is, for what they leave.

use super::Printer;
use crate::ir::*;
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn steps(&mut self, steps: &Steps) {
        let name = format!("{}_steps{}", self.function.name, self.chunks_count);
        self.chunks_count += 1;
        let around = std::mem::take(self.out);
        let bound = self.exp(&steps.bound);
        self.indent += 2;
        self.for_loop(steps.index, "done", "until", &steps.body, &Mark::Sequential);
        self.indent -= 2;
        let alone = std::mem::replace(self.out, around);
        let mut structure = self.steps_structure(&name, steps);
        let make = match steps.body.iter().any(|stm| matches!(stm, Stm::Alloc { .. })) {
            true => self.make_function(std::mem::take(&mut structure), &name, steps),
            false => String::from("NULL"),
        };
        self.steps_function(structure, &name, steps, &make);
        self.line("{");
        self.indent += 1;
        self.line("int64_t done = 0;");
        self.line(&format!("while (done < {bound}) {{"));
        self.indent += 1;
        self.run_steps(&name, steps, &bound, &make);
        self.out.push_str(&alone);
        self.line("done = until;");
        self.line("cw_end_stint(&stint);");
        self.indent -= 1;
        self.line("}");
        self.indent -= 1;
        self.line("}");
    }

    /// What the threads share: their party, what the loop reads and sets, the arrays and totals of two steps, since some are in the next one already.
    fn steps_structure(&mut self, name: &str, steps: &Steps) -> String {
        let (mut made, mut parts) = (String::new(), String::new());
        for stm in &steps.body {
            match stm {
                Stm::Alloc { owner, .. } => {
                    let _ = writeln!(made, "  cw_block *{}[2];", self.name(*owner));
                }
                Stm::Parallel(parallel) if !parallel.totals.is_empty() => {
                    let loop_name = self.chunk_name(parallel);
                    // A cache line for each chunk, so that threads do not wait for one another.
                    let _ = writeln!(parts, "struct {loop_name}_part {{\n  _Alignas(64) char unused;");
                    for (_, total) in &parallel.totals {
                        let _ = writeln!(parts, "  {};", self.declare(*total));
                    }
                    parts.push_str("};\n\n");
                    let _ = writeln!(made, "  struct {loop_name}_part {loop_name}_parts[2][CW_MAX_CHUNKS];");
                }
                _ => {}
            }
        }
        let mut fields = String::new();
        for local in shared(&steps.connections) {
            let _ = writeln!(fields, "  {};", self.declare(local));
        }
        format!("{parts}struct {name} {{\n  cw_party party;\n  int64_t first, bound, done;\n{fields}{made}}};\n\n")
    }

    /// A function that makes the arrays of a step; its name.
    fn make_function(&mut self, structure: String, name: &str, steps: &Steps) -> String {
        let make = format!("{name}_make");
        let around = self.begin_function(structure, &make, "void *data, int64_t step");
        self.line(&format!("struct {name} *steps = data;"));
        for stm in &steps.body {
            let Stm::Alloc { owner, data, elem, dims, zeroed, site } = stm else { continue };
            let mut known: Vec<Local> = Vec::new();
            dims.iter().for_each(|dim| dim.for_each_local(&mut |local| known.push(local)));
            known.sort_unstable();
            known.dedup();
            self.line("{");
            self.indent += 1;
            for local in known {
                let (declared, name) = (self.declare(local), self.name(local));
                self.line(&format!("{declared} = steps->{name};"));
            }
            for local in [*owner, *data] {
                if self.is_declared(local) {
                    self.stm(&Stm::Declare(local));
                }
            }
            self.alloc(*owner, *data, *elem, dims, *zeroed, *site);
            let owner = self.name(*owner);
            self.line(&format!("steps->{owner}[step & 1] = {owner};"));
            self.indent -= 1;
            self.line("}");
        }
        self.end_function(around);
        make
    }

    /// All steps, as every thread runs them.
    fn steps_function(&mut self, structure: String, name: &str, steps: &Steps, make: &str) {
        let parameters = "void *data, int32_t chunk, int64_t from, int64_t to";
        let around = self.begin_function(structure, &format!("{name}_together"), parameters);
        self.line(&format!("struct {name} *steps = data;"));
        self.line("cw_member member;");
        self.line("if (!cw_join(&steps->party, chunk, &member)) return 0;");
        for local in shared(&steps.connections) {
            let (declared, name) = (self.declare(local), self.name(local));
            self.line(&format!("{declared} = steps->{name};"));
        }
        let index = self.name(steps.index);
        let index_declared = self.declare(steps.index);
        self.line(&format!("{index_declared} = steps->first;"));
        self.line(&format!("for (bool ends = false; !ends && {index} < steps->bound; {index}++) {{"));
        self.indent += 1;
        // What the leader made for this step, before it makes more.
        for stm in &steps.body {
            if let Stm::Alloc { owner, .. } = stm {
                let owner = self.name(*owner);
                self.line(&format!("cw_block *made_{owner} = steps->{owner}[{index} & 1];"));
            }
        }
        let last = steps.body.iter().rposition(|stm| matches!(stm, Stm::Parallel(_)));
        for (at, stm) in steps.body.iter().enumerate() {
            let meet = match Some(at) == last {
                true => format!("cw_meet_last(&member, ctx, {make}, steps, {index} + 1, steps->bound, &ends)"),
                false => String::from("cw_meet(&member)"),
            };
            match stm {
                Stm::Parallel(parallel) => self.shared_loop(parallel, &index, &meet),
                Stm::Alloc { owner, data, elem, .. } => {
                    let (owner_name, elem) = (self.name(*owner), super::elem_name(*elem, self.layouts));
                    let (owner, data) = (self.declare_or_name(*owner), self.declare_or_name(*data));
                    self.line(&format!("{owner} = made_{owner_name};"));
                    self.line(&format!("{data} = ({elem} *)({owner_name} + 1);"));
                }
                other => self.between_loops(other),
            }
        }
        self.indent -= 1;
        self.line("}");
        self.line("if (member.rank == 0) {");
        self.line(&format!("  steps->done = {index};"));
        for local in &steps.connections.assigned {
            let name = self.name(*local);
            self.line(&format!("  steps->{name} = {name};"));
        }
        self.line("}");
        self.end_function(around);
    }

    /// What every thread does for itself, and the leader for all.
    fn between_loops(&mut self, stm: &Stm) {
        match stm {
            Stm::Retain(..) | Stm::Release(..) | Stm::Store { .. } | Stm::Put { .. } => {
                self.line("if (member.rank == 0) {");
                self.nested(std::slice::from_ref(stm));
                self.line("}");
            }
            Stm::If { condition, then, otherwise } => {
                let condition = self.condition(condition);
                for (text, stms) in [(format!("if ({condition}) {{"), then), (String::from("} else {"), otherwise)] {
                    self.line(&text);
                    self.indent += 1;
                    stms.iter().for_each(|stm| self.between_loops(stm));
                    self.indent -= 1;
                }
                self.line("}");
            }
            // Chunks look at the clock.
            Stm::Tick(_) => {}
            other => self.stm(other),
        }
    }

    /// A loop of a step: the chunks of this thread, and its totals when all have met.
    fn shared_loop(&mut self, parallel: &Parallel, step: &str, meet: &str) {
        let (name, bound, chunks) = (self.chunk_name(parallel), self.exp(&parallel.bound), self.chunks_of(parallel));
        self.line("{");
        self.indent += 1;
        self.line(&format!("int32_t chunks = {chunks};"));
        self.describe_loop(&name, parallel);
        let run = if parallel.totals.is_empty() { "cw_run_at_once" } else { "cw_run_own" };
        self.line(&format!("{run}(&member, ctx, {name}_chunk, &loop, chunks, {bound});"));
        if !parallel.totals.is_empty() {
            self.line(&format!("struct {name}_part *parts = steps->{name}_parts[{step} & 1];"));
            self.line("for (int32_t chunk = cw_first_own(&member, chunks); chunk < cw_end_own(&member, chunks); chunk++) {");
            for (_, total) in &parallel.totals {
                let total = self.name(*total);
                self.line(&format!("  parts[chunk].{total} = loop.part_{total}[chunk];"));
            }
            self.line("}");
        }
        self.line(&format!("if ({meet}) return 1;"));
        self.combine_totals(parallel, &|total, chunk| format!("parts[{chunk}].{total}"));
        self.indent -= 1;
        self.line("}");
    }

    /// Runs steps with the other threads, as long as they stay.
    fn run_steps(&mut self, name: &str, steps: &Steps, bound: &str, make: &str) {
        let loops = steps.body.iter().filter_map(|stm| match stm {
            Stm::Parallel(parallel) => Some(parallel),
            _ => None,
        });
        let works: Vec<String> = loops
            .map(|parallel| format!("cw_saturated_times({}, {})", self.exp(&parallel.bound), self.exp(&parallel.work)))
            .collect();
        let works = format!("{}, (const int64_t[]){{{}}}", works.len(), works.join(", "));
        self.line(&format!("cw_stint stint = cw_next_stint(ctx, {name}_together, {bound} - done, {works});"));
        self.line("int64_t until = done + stint.steps;");
        self.line("if (stint.together) {");
        self.indent += 1;
        self.line(&format!("struct {name} steps;"));
        self.line("steps.first = steps.done = done;");
        self.line("steps.bound = until;");
        for local in shared(&steps.connections) {
            let name = self.name(local);
            self.line(&format!("steps.{name} = {name};"));
        }
        self.state_depth();
        self.line(&format!(
            "if (cw_stay_together(ctx, &stint, &steps.party, {name}_together, {make}, &steps, done)) {}",
            self.leave("1")
        ));
        self.restore_depth();
        self.line("done = steps.done;");
        for local in &steps.connections.assigned {
            let name = self.name(*local);
            self.line(&format!("{name} = steps.{name};"));
        }
        self.indent -= 1;
        self.line("}");
    }

    fn chunk_name(&self, parallel: &Parallel) -> String {
        self.chunk_names.get(&parallel.index).cloned().unwrap_or_default()
    }
}

/// All that a loop reads or sets of its surroundings.
fn shared(connections: &Connections) -> Vec<Local> {
    let mut all: Vec<Local> = connections.captured.iter().chain(&connections.assigned).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
