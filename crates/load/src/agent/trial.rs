//! A trial under way: the launcher as a child of the agent.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use nix::poll::{PollFd, PollFlags};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde_json::{Value as Json, json};

use super::files::read_all;
use super::protocol::{Kind, Refusal, Trial};
use super::writers::{LastWriters, Watch};
use crate::launcher::MadeWrite;
use crate::sys::process::{self, Usage};
use crate::sys::wait;

/// Time between two checks of a running trial.
const PERIOD: Duration = Duration::from_secs(1);
/// Time for the launcher to kill its command.
pub const GRACE: Duration = Duration::from_secs(15);

/// A trial under way.
#[derive(Debug)]
pub struct Running {
    /// Number of the request.
    pub id: u64,
    trial: Trial,
    child: Child,
    streams: [File; 3],
    before: Json,
    watch: Option<Watch>,
    /// Resources of earlier trials: no other children of the agent are reaped.
    earlier: Usage,
    samples: Vec<Json>,
    started: f64,
    began: Instant,
    next: Instant,
    sigterm_sent: bool,
}

impl Running {
    /// Read the trial's files, and start its command. `watch` notes who writes the values that the trial must not change.
    pub fn start(id: u64, trial: Trial, folder: &Path, watch: Option<Watch>) -> Result<Self, Refusal> {
        let failed =
            |error: io::Error| Refusal::new(Kind::System, format!("the trial could not be started: {error}"));
        let stream =
            |flags| memfd_create(c"trial", flags).map(File::from).map_err(|error| failed(error.into()));
        let closed = MFdFlags::MFD_CLOEXEC;
        // The launcher inherits the report's file by its number.
        let streams = [stream(closed)?, stream(closed)?, stream(MFdFlags::empty())?];
        let output = |file: &File| file.try_clone().map(Stdio::from).map_err(failed);
        let (before, earlier) = (read_all(&trial.files), Usage::of_children());
        let (began, started) = (Instant::now(), seconds_now());
        let mut launcher = Command::new("/proc/self/exe");
        if trial.hook {
            launcher.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path)));
        }
        let child = launcher
            .arg("exec")
            .arg(format!("--parent={}", process::own_pid()))
            .arg(format!("--report={}", streams[2].as_raw_fd()))
            .args(&trial.argv)
            .envs(&trial.environment)
            .current_dir(trial.folder.as_ref().map_or(folder, Path::new))
            .stdin(Stdio::null())
            .stdout(output(&streams[0])?)
            .stderr(output(&streams[1])?)
            .spawn()
            .map_err(failed)?;
        let next = began + PERIOD;
        Ok(Self {
            id,
            trial,
            child,
            streams,
            before,
            watch,
            earlier,
            samples: Vec::new(),
            started,
            began,
            next,
            sigterm_sent: false,
        })
    }

    /// The last writers of tunables, after the trial.
    pub fn last_writers(self) -> LastWriters {
        self.watch.map(Watch::end).unwrap_or_default()
    }

    /// When to call [`Running::poll`] next.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Read the samples, and end a command that exceeds its time limit or its output limit.
    pub fn poll(&mut self) {
        self.next = Instant::now() + PERIOD;
        if !self.trial.samples.is_empty() {
            self.samples.push(read_all(&self.trial.samples));
        }
        let length = |file: &File| file.metadata().map_or(0, |state| state.len());
        if length(&self.streams[0]).max(length(&self.streams[1])) > self.trial.largest_output {
            self.ask_to_end();
        }
        if self.began.elapsed().as_secs_f64() > self.trial.limit {
            if self.sigterm_sent {
                let _ = self.child.kill();
            }
            self.ask_to_end();
        }
    }

    /// The result, once the launcher has ended.
    pub fn result(&mut self) -> Option<Json> {
        let status = self.child.try_wait().ok()??;
        let elapsed = self.began.elapsed().as_secs_f64();
        let after = read_all(&self.trial.files);
        let [out, err, report] = &self.streams;
        Some(json!({
            "status": code(status),
            "stdout": text(out, self.trial.largest_output),
            "stderr": text(err, self.trial.largest_output),
            "report": text(report, self.trial.largest_output),
            "started": self.started,
            "elapsed": elapsed,
            "tree": Usage::of_children().since(self.earlier),
            "before": self.before,
            "after": after,
            "samples": self.samples,
        }))
    }

    /// Wait for the end of the command, and return the result.
    pub fn finish(mut self) -> Json {
        loop {
            let has_ended = self.await_end(self.next);
            if let Some(result) = self.result().filter(|_| has_ended) {
                return result;
            }
            self.poll();
        }
    }

    /// End the trial with all its processes.
    pub fn end(mut self) {
        self.ask_to_end();
        self.await_end(Instant::now() + GRACE);
        // The launcher's supervisor notices the end of the launcher, and kills the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Wait for the end of the launcher; false after the deadline.
    fn await_end(&mut self, deadline: Instant) -> bool {
        let watched: Option<OwnedFd> = process::open(self.child.id() as process::Pid).ok();
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                return false;
            }
            match &watched {
                Some(watched) => {
                    let mut source = [PollFd::new(watched.as_fd(), PollFlags::POLLIN)];
                    let _ = wait::until(&mut source, Some(deadline));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        true
    }

    fn ask_to_end(&mut self) {
        self.sigterm_sent = true;
        process::kill(self.child.id() as process::Pid, libc::SIGTERM);
    }
}

/// The last text of each file that the launcher has written during the trial, according to its report.
pub fn timed(result: &Json) -> BTreeMap<String, String> {
    let report = result["report"].as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    let writes =
        report.and_then(|report| serde_json::from_value::<Vec<MadeWrite>>(report["timed"].clone()).ok());
    writes.into_iter().flatten().map(|write| (write.path, write.text)).collect()
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(0))
}

fn text(file: &File, largest: u64) -> String {
    let length = file.metadata().map_or(0, |state| state.len()).min(largest);
    let mut bytes = vec![0; length as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

fn seconds_now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
