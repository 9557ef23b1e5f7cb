//! Two blocks that may run at the same time: a function for each, and a structure with what they read and set.

use super::Printer;
use crate::ir::*;
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn fork(&mut self, fork: &Fork) {
        let Some(connections) = &fork.connections else {
            for stms in [&fork.left, &fork.right] {
                self.line("{");
                self.nested(stms);
                self.line("}");
            }
            return;
        };
        let name = format!("{}_fork{}", self.function.name, self.chunks_count);
        self.chunks_count += 1;
        let mut fields: Vec<Local> =
            connections.iter().flat_map(|own| own.captured.iter().chain(&own.assigned)).copied().collect();
        fields.sort_unstable();
        fields.dedup();
        let structure = self.fork_structure(&name, &fields);
        self.side_function("left", structure, &name, &connections[0], &fork.left);
        self.side_function("right", String::new(), &name, &connections[1], &fork.right);
        self.line("{");
        self.indent += 1;
        self.line(&format!("struct {name} fork;"));
        for local in connections.iter().flat_map(|own| &own.captured) {
            let name = self.name(*local);
            self.line(&format!("fork.{name} = {name};"));
        }
        self.state_depth();
        self.line(&format!("if (cw_fork(ctx, {name}_left, &fork, {name}_right, &fork)) {}", self.leave("1")));
        self.restore_depth();
        for local in connections.iter().flat_map(|own| &own.assigned) {
            let name = self.name(*local);
            self.line(&format!("{name} = fork.{name};"));
        }
        self.indent -= 1;
        self.line("}");
    }

    fn fork_structure(&mut self, name: &str, fields: &[Local]) -> String {
        let mut text = format!("struct {name} {{\n  char unused;\n");
        for local in fields {
            let _ = writeln!(text, "  {};", self.declare(*local));
        }
        text.push_str("};\n\n");
        text
    }

    /// The function for one side, in front of the function that has the fork.
    fn side_function(&mut self, side: &str, types: String, fork: &str, own: &Connections, stms: &[Stm]) {
        let around = self.begin_function(types, &format!("{fork}_{side}"), "void *data");
        self.line(&format!("struct {fork} *fork = data;"));
        for local in &own.captured {
            let (declared, name) = (self.declare(*local), self.name(*local));
            self.line(&format!("{declared} = fork->{name};"));
        }
        for local in &own.assigned {
            self.stm(&Stm::Declare(*local));
        }
        self.stms(stms);
        for local in &own.assigned {
            let name = self.name(*local);
            self.line(&format!("fork->{name} = {name};"));
        }
        self.end_function(around);
    }
}
