//! The worker's loop: requests, the trial under way, signals, the lease.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde_json::{Value as Json, json};

use super::Arguments;
use super::changes::Changes;
use super::files::{self, Tunables, Written};
use super::groups;
use super::lock::MachineLock;
use super::place;
use super::protocol::{Answer, Frame, Kind, Refusal, Request, Trial, reply};
use super::records::Opened;
use super::recovery;
use super::state::Outcome;
use super::trial::{self, Running};
use super::writers::Watch;
use crate::sys::process::{self, Pid};
use crate::sys::wait;

/// Longest line of a request in bytes.
const LONGEST: usize = 16 << 20;
/// Time for a controller to end after the end of its input.
const CONTROLLER_ENDING: Duration = Duration::from_secs(1);

/// The session with a controller.
#[derive(Debug)]
pub struct Session {
    input: File,
    output: File,
    signals: SignalFd,
    buffer: Vec<u8>,
    batch: bool,
    succeeded: bool,
    tunables: Tunables,
    folder: PathBuf,
    journals: PathBuf,
    controller: Option<Pid>,
    controller_end: Option<OwnedFd>,
    lock: Option<MachineLock>,
    changes: Option<Changes>,
    /// Files of a guest, which has no journal.
    written: Vec<Written>,
    running: Option<Running>,
    lease: Option<Duration>,
    heard: Instant,
}

/// Why the session ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The controller requested the end; the number of the request.
    Asked(u64),
    /// The connection is lost, the lease has expired, or a signal asks to stop.
    Lost,
}

impl Session {
    /// A session on standard input and output.
    pub fn new(arguments: &Arguments) -> io::Result<Self> {
        let mut set = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD]
            .into_iter()
            .for_each(|signal| set.add(signal));
        set.thread_block()?;
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // A stopped controller must not block the agent: its lease would never expire.
        fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self {
            input: File::from(io::stdin().as_fd().try_clone_to_owned()?),
            output,
            signals: SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?,
            buffer: Vec::new(),
            batch: arguments.batch,
            succeeded: true,
            tunables: Tunables::new(&arguments.root),
            folder: arguments.folder.clone().unwrap_or_else(|| "/".into()),
            journals: arguments.journals(),
            controller: arguments.controller,
            controller_end: arguments.controller.and_then(|pid| process::open(pid).ok()),
            lock: None,
            changes: None,
            written: Vec::new(),
            running: None,
            lease: None,
            heard: Instant::now(),
        })
    }

    /// Serve the controller until the end, then undo everything.
    pub fn serve(mut self) -> io::Result<()> {
        let end = self.until_end();
        if let Some(running) = self.running.take() {
            running.end();
        }
        if let (Ok(End::Lost), Some(controller), Some(_)) = (&end, &self.controller_end, &self.changes) {
            // The controller's input may end before its locks on folders that are to be removed.
            let mut sources = [PollFd::new(controller.as_fd(), PollFlags::POLLIN)];
            wait::until(&mut sources, Some(Instant::now() + CONTROLLER_ENDING))?;
        }
        let outcomes = self.changes.as_mut().map(Changes::undo).unwrap_or_default();
        crate::noise::remove_dead_traces();
        drop(self.lock.take());
        if let Ok(End::Asked(id)) = end {
            self.lease = Some(Duration::from_secs(5));
            self.heard = Instant::now();
            let _ = self.reply(id, &Ok(json!({ "outcomes": outcomes })));
        }
        end.map(drop)
    }

    fn until_end(&mut self) -> io::Result<End> {
        loop {
            while !self.defers()
                && let Some(line) = self.line()
            {
                if let Some(end) = self.handle(&line)? {
                    return Ok(end);
                }
            }
            if let Some(end) = self.wait()? {
                return Ok(end);
            }
        }
    }

    /// Wait for input, a signal, or the next deadline, and deal with it.
    fn wait(&mut self) -> io::Result<Option<End>> {
        let until = [self.expires(), self.running.as_ref().map(Running::next)].into_iter().flatten().min();
        let watch = |source| PollFd::new(source, PollFlags::POLLIN);
        let mut sources = vec![self.watched_input(self.defers()), watch(self.signals.as_fd())];
        // A child of the controller may keep the input open after the controller's end.
        sources.extend(self.controller_end.as_ref().map(|end| watch(end.as_fd())));
        wait::until(&mut sources, until)?;
        let readable = sources[0].any().unwrap_or(false);
        if sources.get(2).is_some_and(|end| end.any().unwrap_or(false)) {
            return Ok(Some(End::Lost));
        }
        if self.stopped()? || (readable && !self.receive()?) {
            return Ok(Some(End::Lost));
        }
        if let Some(mut result) = self.running.as_mut().and_then(Running::result)
            && let Some(running) = self.running.take()
        {
            self.succeeded = result["status"] == 0;
            let id = running.id;
            let timed = trial::timed(&result);
            result["changed"] = json!(match &mut self.changes {
                Some(changes) => changes.changed_by(&running.last_writers(), &timed),
                None => files::put_back(&self.written, &timed),
            });
            if !self.reply(id, &Ok(result))? {
                return Ok(Some(End::Lost));
            }
        }
        let now = Instant::now();
        if let Some(running) = self.running.as_mut().filter(|running| running.next() <= now) {
            running.poll();
        }
        Ok(self.expires().filter(|time| *time <= now).map(|_| End::Lost))
    }

    /// When the lease expires.
    fn expires(&self) -> Option<Instant> {
        self.lease.map(|lease| self.heard + lease)
    }

    /// Whether a signal asks to stop.
    fn stopped(&self) -> io::Result<bool> {
        while let Some(signal) = self.signals.read_signal()? {
            if signal.ssi_signo as i32 != libc::SIGCHLD {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether further requests have to wait for the end of a trial.
    fn defers(&self) -> bool {
        self.batch && self.running.is_some()
    }

    /// The input, for [`poll`]; a file is always readable.
    fn watched_input(&self, is_ignored: bool) -> PollFd<'_> {
        PollFd::new(self.input.as_fd(), if is_ignored { PollFlags::empty() } else { PollFlags::POLLIN })
    }

    /// Read available input; false at its end.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1 << 16];
        let count = match self.input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(_) => return Ok(false),
            Ok(count) => count,
        };
        self.heard = Instant::now();
        self.buffer.extend_from_slice(&bytes[..count]);
        Ok(count > 0 && self.buffer.len() <= LONGEST)
    }

    /// The next line of the input.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        Some(self.buffer.drain(..=end).collect())
    }

    fn handle(&mut self, line: &[u8]) -> io::Result<Option<End>> {
        let (id, answer) = match serde_json::from_slice::<Frame>(line) {
            Err(error) => {
                let id = serde_json::from_slice::<Json>(line).ok().and_then(|body| body["id"].as_u64());
                (
                    id.unwrap_or(0),
                    Err(Refusal::new(Kind::Usage, format!("a request is not understood: {error}"))),
                )
            }
            Ok(Frame { request: Request::Beat, .. }) => return Ok(None),
            Ok(Frame { id, request: Request::End }) => return Ok(Some(End::Asked(id))),
            Ok(Frame { id, request: Request::Run(trial) }) if trial.after_success && !self.succeeded => {
                (id, Ok(json!({ "skipped": true })))
            }
            Ok(Frame { id, request: Request::Run(trial) }) => match self.start(id, trial) {
                Ok(running) => {
                    self.running = Some(running);
                    return Ok(None);
                }
                Err(refusal) => (id, Err(refusal)),
            },
            Ok(Frame { id, request }) => (id, self.answer(request)),
        };
        Ok((!self.reply(id, &answer)?).then_some(End::Lost))
    }

    /// Start a trial. Refused if another process has changed a value already: from here on, the trial explains a change.
    fn start(&self, id: u64, trial: Trial) -> Result<Running, Refusal> {
        self.idle()?;
        let watch = Watch::start(self.changes.iter().flat_map(Changes::paths));
        self.changes.as_ref().map_or(Ok(()), Changes::check_all)?;
        Running::start(id, trial, &self.folder, watch)
    }

    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Hello => place::hello(),
            Request::Read { paths } => Ok(files::read_all(&paths)),
            Request::Writable { paths } => Ok(files::unwritable(&paths)),
            Request::Find { programs } => Ok(files::find(&programs)),
            Request::Set { settings } => {
                self.written = files::set(&settings);
                Ok(json!({ "written": self.written }))
            }
            Request::Debugfs => match place::mount_debugfs() {
                Ok(()) => Ok(json!({})),
                Err(error) => Err(Refusal::new(Kind::System, format!("debugfs cannot be mounted: {error}"))),
            },
            Request::Recover => {
                crate::noise::remove_dead_traces();
                Ok(json!({ "outcomes": self.recover()? }))
            }
            Request::Journals => recovery::journals(&self.journals).map_err(|error| self.unusable(&error)),
            Request::Holder => Ok(json!({ "holder": MachineLock::holder()? })),
            Request::Begin { run, lease, alone } => self.begin(&run, lease, alone),
            Request::Made(resource) => {
                self.changes()?.made(resource)?;
                Ok(json!({}))
            }
            Request::Gone(resource) => {
                self.changes()?.gone(resource);
                Ok(json!({}))
            }
            Request::Watch { files } => {
                self.idle()?;
                self.changes()?.watch(&files)?;
                Ok(json!({}))
            }
            Request::Rehearse { files } => {
                self.idle()?;
                self.changes()?.rehearse(&files)?;
                Ok(json!({}))
            }
            Request::Put { wanted } => {
                self.idle()?;
                let (writes, left) = self.changes()?.put(&wanted)?;
                Ok(json!({ "writes": writes, "left": left }))
            }
            Request::Groups { names, controllers, make } => {
                self.idle()?;
                groups::groups(&self.tunables, self.changes.as_mut(), &names, &controllers, make)
            }
            Request::Cancel => {
                if let Some(running) = self.running.take() {
                    running.end();
                }
                Ok(json!({}))
            }
            Request::Beat | Request::End | Request::Run(_) => {
                Err(Refusal::new(Kind::Usage, "not expected here"))
            }
        }
    }

    fn recover(&self) -> Result<Vec<Outcome>, Refusal> {
        recovery::recover(&self.journals).map_err(|error| self.unusable(&error))
    }

    fn unusable(&self, error: &io::Error) -> Refusal {
        let text = format!("the journals in {} cannot be read: {error}", self.journals.display());
        Refusal::new(Kind::Journal, text)
    }

    fn begin(&mut self, run: &str, lease: f64, alone: bool) -> Answer {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
        if self.changes.is_some() || run.is_empty() || run.starts_with('.') || !run.chars().all(is_name) {
            return Err(Refusal::new(Kind::Usage, format!("a run `{run}` cannot begin here")));
        }
        let lease = Duration::try_from_secs_f64(lease)
            .map_err(|error| Refusal::new(Kind::Usage, format!("the lease is wrong: {error}")))?;
        let mut outcomes = Vec::new();
        if alone {
            let lock = MachineLock::take()?;
            outcomes = self.recover()?;
            crate::noise::remove_dead_traces();
            self.lock = Some(lock);
        }
        self.lease = (!lease.is_zero()).then_some(lease);
        let opened = Opened::new(run, self.tunables.root(), self.controller);
        self.changes = Some(Changes::new(self.tunables.clone(), &self.journals, opened));
        Ok(json!({ "outcomes": outcomes }))
    }

    /// The changes of the run; a refusal before its beginning.
    fn changes(&mut self) -> Result<&mut Changes, Refusal> {
        self.changes.as_mut().ok_or_else(|| Refusal::new(Kind::Usage, "no run has begun"))
    }

    /// A refusal while a trial is under way.
    fn idle(&self) -> Result<(), Refusal> {
        if self.running.is_some() {
            return Err(Refusal::new(Kind::Usage, "a trial is under way"));
        }
        Ok(())
    }

    /// Send a reply; false when the controller is gone, or takes nothing until the lease expires.
    fn reply(&mut self, id: u64, answer: &Answer) -> io::Result<bool> {
        let line = reply(id, answer);
        if !self.batch {
            return self.send(line.as_bytes());
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(line.as_bytes())?;
        self.send(&packed.finish()?)
    }

    fn send(&mut self, data: &[u8]) -> io::Result<bool> {
        let mut rest = data;
        while !rest.is_empty() {
            match self.output.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut sources = [
                        PollFd::new(self.output.as_fd(), PollFlags::POLLOUT),
                        PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
                        self.watched_input(self.batch),
                    ];
                    wait::until(&mut sources, self.expires())?;
                    let [writable, _, readable] = sources.map(|source| source.any().unwrap_or(false));
                    let is_over = (readable && !self.receive()?) || self.stopped()?;
                    if is_over || (!writable && self.expires().is_some_and(|time| time <= Instant::now())) {
                        return Ok(false);
                    }
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}
