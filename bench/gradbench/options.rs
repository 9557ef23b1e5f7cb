//! The command line.

use chadwick_bench::gradbench::workloads::Workload;
use chadwick_bench::{Result, home};
use std::path::PathBuf;

pub const HELP: &str = "\
Times functions and derivatives of GradBench's problems, beside other tools.

usage: gradbench [OPTIONS] [WORKLOAD…]

A workload is `gmm 64_100` or, for all of a problem, `gmm`; without any, a selection is run.

  --all            run all workloads
  --list           list the workloads that would be run
  --seconds S      how long each function runs at least (default 0.5)
  --tool COMMAND   the tool that is measured (default: the `chadwick gradbench` beside this program)
  --by-hand        compare with C written by hand
  --jax PYTHON     compare with JAX, by a Python that has it
  --torch PYTHON   compare with PyTorch, by a Python that has it
  --save DIR       write the messages to files
  --plot FILE      draw our times against sizes, as SVG
  --help           print this

Times are minima, in milliseconds; memory is the peak of the tool's process. Results of peers are
compared with ours: a function whose results differ is reported, its time is not shown, and the exit
status is 1.

examples:
  gradbench                                                    a selection of workloads, no peers
  gradbench --by-hand gmm 'lse 1280000'                        all of gmm and one of lse, beside C
  gradbench --by-hand --jax venv/bin/python --torch python3    the selection, beside all peers
  gradbench --tool 'chadwick gradbench --threads 2' --all      everything, on two threads
";

pub struct Options {
    pub tool: Vec<String>,
    pub peers: Vec<Peer>,
    pub seconds: f64,
    pub save: Option<PathBuf>,
    pub plot: Option<PathBuf>,
    pub list: bool,
    pub help: bool,
    all: bool,
    names: Vec<String>,
}

/// Who we are compared with.
pub enum Peer {
    ByHand,
    Tool { name: &'static str, command: Vec<String> },
}

impl Peer {
    pub fn name(&self) -> &'static str {
        match self {
            Peer::ByHand => "C",
            Peer::Tool { name, .. } => name,
        }
    }

    /// A tool in Python.
    fn python(name: &'static str, python: String, script: &str) -> Peer {
        let script = home().join("gradbench/peers").join(script).display().to_string();
        Peer::Tool { name, command: vec![python, script] }
    }
}

impl Options {
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Options> {
        let mut options = Options {
            tool: vec![beside()?, String::from("gradbench")],
            peers: Vec::new(),
            seconds: 0.5,
            save: None,
            plot: None,
            list: false,
            help: false,
            all: false,
            names: Vec::new(),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--tool" => options.tool = value()?.split_whitespace().map(str::to_owned).collect(),
                "--by-hand" => options.peers.push(Peer::ByHand),
                "--jax" => options.peers.push(Peer::python("JAX", value()?, "jax_tool.py")),
                "--torch" => options.peers.push(Peer::python("PyTorch", value()?, "torch_tool.py")),
                "--seconds" => options.seconds = value()?.parse()?,
                "--save" => options.save = Some(PathBuf::from(value()?)),
                "--plot" => options.plot = Some(PathBuf::from(value()?)),
                "--all" => options.all = true,
                "--list" => options.list = true,
                "--help" | "-h" => options.help = true,
                option if option.starts_with('-') => return Err(format!("there is no option {option}; see --help").into()),
                _ => options.names.push(word),
            }
        }
        Ok(options)
    }

    pub fn chooses(&self, workload: &Workload) -> bool {
        match self.names.is_empty() {
            true => self.all || workload.selected,
            false => self.names.iter().any(|name| workload.name == *name || workload.module == *name),
        }
    }
}

/// The tool that was built along with this program.
fn beside() -> Result<String> {
    Ok(std::env::current_exe()?.with_file_name("chadwick").display().to_string())
}
