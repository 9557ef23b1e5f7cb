//! `chadwick repl`: expressions and definitions as they are typed, with history and inputs of several lines.

use crate::commands::trace_line;
use crate::options::ReplOptions;
use crate::output::{self, Paint, style};
use crate::{Exit, panics};
use chadwick::session::{InputKind, Session};
use chadwick::{Error, Result};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Editor, Helper};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

const HELP: &str = "\
  EXPRESSION        evaluate; a line that is not complete goes on in the next
  def f x = …       define; also type, module, open, import
  :type EXPRESSION  the type of an expression, without evaluating it
  :load FILE        start anew with the definitions of a file
  :core EXPRESSION  the intermediate code of an expression
  :help             this text
  :quit             leave (also Ctrl-D)";

const COMMANDS: [&str; 5] = [":type", ":load", ":core", ":help", ":quit"];

pub fn command(options: &ReplOptions) -> Exit {
    let mut prompt = Prompt { session: Session::new(), options };
    prompt.session.set_trace(|tag, values| output::error_line(&trace_line(tag, values)));
    if let Some(path) = &options.file
        && let Err(error) = prompt.session.load(path)
    {
        report(&error);
        return Exit::Failure;
    }
    match std::io::stdin().is_terminal() {
        true => interactive(&mut prompt),
        false => piped(&mut prompt),
    }
}

struct Prompt<'o> {
    session: Session,
    options: &'o ReplOptions,
}

enum Next {
    Continue,
    Quit,
}

fn report(error: &Error) {
    output::error_line(&error.render(style(Paint::stderr())));
}

impl Prompt<'_> {
    /// Handles one input. A bug of ours must not end the session.
    fn handle(&mut self, input: &str) -> Next {
        if matches!(input.trim(), ":quit" | ":q" | ":exit") {
            return Next::Quit;
        }
        match panics::caught(|| self.try_handle(input)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => report(&error),
            Err(panic) => output::error_line(&format!("error: internal error, please report it: {panic}")),
        }
        Next::Continue
    }

    fn try_handle(&mut self, input: &str) -> Result<()> {
        let trimmed = input.trim();
        if trimmed.is_empty() {
            return Ok(());
        }
        self.session.set_limits(self.options.limits.starting_now());
        if trimmed.starts_with(':') {
            let (command, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
            return self.colon_command(command, rest.trim());
        }
        match Session::kind(input) {
            InputKind::Definitions => self.session.define(input),
            InputKind::Expression | InputKind::Incomplete => {
                let result = self.session.evaluate(input)?;
                output::line(&format!("{} : {}", result.value, result.ty));
                Ok(())
            }
        }
    }

    fn colon_command(&mut self, command: &str, rest: &str) -> Result<()> {
        match (command, rest) {
            (":help" | ":h" | ":?", _) => output::line(HELP),
            (":type" | ":t" | ":load" | ":l" | ":core", "") => {
                return Err(Error::argument(format!("`{command}` needs something behind it; see `:help`")));
            }
            (":type" | ":t", text) => output::line(&self.session.type_of(text)?),
            (":core", text) => output::line(self.session.core_of(text)?.trim_end()),
            (":load" | ":l", path) => self.session.load(Path::new(path))?,
            _ => return Err(Error::argument(format!("there is no command `{command}`; there are {}", COMMANDS.join(", ")))),
        }
        Ok(())
    }
}

fn interactive(prompt: &mut Prompt<'_>) -> Exit {
    let mut editor: Editor<InputHelper, DefaultHistory> = match Editor::new() {
        Ok(editor) => editor,
        Err(error) => {
            output::error_line(&format!("error: the terminal cannot be used: {error}"));
            return Exit::Failure;
        }
    };
    editor.set_helper(Some(InputHelper));
    let history = history_file();
    if let Some(path) = &history {
        let _ = editor.load_history(path);
    }
    output::line(&format!("chadwick {}; `:help` for help, `:quit` to leave", env!("CARGO_PKG_VERSION")));
    let exit = loop {
        match editor.readline("> ") {
            Ok(input) => {
                let _ = editor.add_history_entry(input.as_str());
                if let Next::Quit = prompt.handle(&input) {
                    break Exit::Success;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break Exit::Success,
            Err(error) => {
                output::error_line(&format!("error: {error}"));
                break Exit::Failure;
            }
        }
    };
    if let Some(path) = &history {
        if let Some(directory) = path.parent() {
            let _ = std::fs::create_dir_all(directory);
        }
        let _ = editor.save_history(path);
    }
    exit
}

/// Inputs from a pipe: one after the other, without prompts.
fn piped(prompt: &mut Prompt<'_>) -> Exit {
    let mut input = String::new();
    let mut exit = Exit::Success;
    for line in std::io::stdin().lock().lines() {
        match line {
            Ok(line) => {
                input.push_str(&line);
                input.push('\n');
            }
            // What was read is gone, and no input ends in the middle of it.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                output::error_line("error: standard input: a line that is no UTF-8 text");
                input.clear();
                exit = Exit::Failure;
                continue;
            }
            Err(error) => {
                output::error_line(&format!("error: standard input: {error}"));
                return Exit::Failure;
            }
        }
        if !is_complete(&input) {
            continue;
        }
        if let Next::Quit = prompt.handle(&std::mem::take(&mut input)) {
            return exit;
        }
    }
    prompt.handle(&input);
    exit
}

/// Whether an input can be handled as it is. An empty line at its end ends any input.
fn is_complete(input: &str) -> bool {
    let text = input.trim();
    text.is_empty() || text.starts_with(':') || input.ends_with("\n\n") || Session::kind(input) != InputKind::Incomplete
}

/// `$XDG_STATE_HOME/chadwick/history`, or below the home directory.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("chadwick").join("history"))
}

/// Tells the editor whether to go on in the next line.
struct InputHelper;

impl Validator for InputHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        match is_complete(context.input()) {
            true => Ok(ValidationResult::Valid(None)),
            false => Ok(ValidationResult::Incomplete),
        }
    }
}

impl Completer for InputHelper {
    type Candidate = String;
}

impl Hinter for InputHelper {
    type Hint = String;
}

impl Highlighter for InputHelper {}
impl Helper for InputHelper {}
