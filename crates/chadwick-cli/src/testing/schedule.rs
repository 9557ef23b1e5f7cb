//! Spreads files over threads, each with a stack for deep programs, and gives up on those that do not come back.
//!
//! The interpreter watches its own time limit. A compiler that hangs cannot be stopped from inside, so a file whose thread shows no sign
//! of life for too long counts as failed, and another thread takes the dead one's place.

use super::run::run_file;
use super::{Config, Outcome, Status};
use crate::{STACK_BYTES, panics};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How much longer than the time limit of a case a thread may be silent.
const GRACE: Duration = Duration::from_secs(20);

enum Message {
    Started { worker: usize, file: usize },
    Alive { worker: usize },
    Finished { worker: usize, file: usize, outcomes: Vec<Outcome> },
    Stopped { worker: usize },
}

struct Worker {
    file: Option<usize>,
    last_seen: Instant,
    gone: bool,
}

/// Runs all files; `done` is called once for each, in order of completion.
pub fn run_all(files: &[PathBuf], config: &Config, done: &mut dyn FnMut(usize, Vec<Outcome>)) {
    let queue: Arc<Mutex<VecDeque<(usize, PathBuf)>>> = Arc::new(Mutex::new(files.iter().cloned().enumerate().collect()));
    let (sender, receiver) = channel();
    let mut workers: Vec<Worker> = Vec::new();
    for _ in 0..config.workers {
        start_worker(&mut workers, &queue, config, &sender);
    }
    let mut left = files.len();
    while left > 0 {
        match next_message(&receiver) {
            Some(Message::Started { worker, file }) => {
                // One that was given up may come back after all.
                workers[worker] = Worker { file: Some(file), last_seen: Instant::now(), gone: false };
            }
            Some(Message::Alive { worker }) => workers[worker].last_seen = Instant::now(),
            Some(Message::Finished { worker, file, outcomes }) if workers[worker].file == Some(file) => {
                workers[worker].file = None;
                left -= 1;
                done(file, outcomes);
            }
            Some(Message::Stopped { worker }) => workers[worker].gone = true,
            // Nothing new, or the end of a file that was given up.
            Some(Message::Finished { .. }) | None => {}
        }
        for index in 0..workers.len() {
            let worker = &mut workers[index];
            let silent = worker.last_seen.elapsed();
            if let Some(file) = worker.file
                && !worker.gone
                && silent > config.timeout + GRACE
            {
                worker.gone = true;
                worker.file = None;
                left -= 1;
                let text = format!("no end after {} seconds; given up", silent.as_secs());
                let status = Status::Failed(text);
                done(file, vec![Outcome { entry: String::new(), dataset: String::new(), line: 0, status, time: silent }]);
                start_worker(&mut workers, &queue, config, &sender);
            }
        }
        if left > 0 && workers.iter().all(|worker| worker.gone) {
            // Cannot happen unless threads cannot be started at all.
            for (file, _) in queue.lock().map(|mut queue| std::mem::take(&mut *queue)).unwrap_or_default() {
                let status = Status::Failed(String::from("no thread could be started"));
                done(file, vec![Outcome { entry: String::new(), dataset: String::new(), line: 0, status, time: Duration::ZERO }]);
            }
            break;
        }
    }
}

fn next_message(receiver: &Receiver<Message>) -> Option<Message> {
    receiver.recv_timeout(Duration::from_millis(200)).ok()
}

fn start_worker(
    workers: &mut Vec<Worker>,
    queue: &Arc<Mutex<VecDeque<(usize, PathBuf)>>>,
    config: &Config,
    sender: &Sender<Message>,
) {
    let worker = workers.len();
    let (queue, config, sender) = (Arc::clone(queue), config.clone(), sender.clone());
    let work = move || {
        let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
        while let Some((file, path)) = next() {
            let _ = sender.send(Message::Started { worker, file });
            let alive = || {
                let _ = sender.send(Message::Alive { worker });
            };
            let outcomes = panics::caught(|| run_file(&path, &config, &alive)).unwrap_or_else(|panic| {
                let status = Status::Failed(format!("internal error: {panic}"));
                vec![Outcome { entry: String::new(), dataset: String::new(), line: 0, status, time: Duration::ZERO }]
            });
            if sender.send(Message::Finished { worker, file, outcomes }).is_err() {
                return;
            }
        }
        let _ = sender.send(Message::Stopped { worker });
    };
    let started = std::thread::Builder::new().name(format!("test {worker}")).stack_size(STACK_BYTES).spawn(work);
    workers.push(Worker { file: None, last_seen: Instant::now(), gone: started.is_err() });
}
