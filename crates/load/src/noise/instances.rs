//! Instances of the kernel's trace (Documentation/trace/ftrace.rst, "Instances"): folders of tracefs.
//!
//! An instance outlives its processes, and the mount in which it was made. Its name contains number and start time of its
//! owner, and a record on disk has the same name, so that the next command removes the instances of killed owners also where
//! tracefs is not mounted. The kernel refuses to remove an instance with open files, which protects the instances of owners
//! that this process cannot see, in other containers.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sys::files;
use crate::sys::process::{self, Pid};

/// Usual place of tracefs.
const TRACEFS: &str = "/sys/kernel/tracing";
/// Beginning of the names of instances.
const PREFIX: &str = "schedlab-noise-";
/// End of the name of the instance for the requests of other CPUs.
pub const REQUESTS: &str = "-requests";

/// Make tracefs available at its place for this process and its children. If tracefs is not mounted, this process gets a
/// mount namespace, and the mount ends with the processes in it.
pub fn mount() -> io::Result<()> {
    let place = Path::new(TRACEFS);
    if place.join("instances").is_dir() { Ok(()) } else { files::mount("tracefs", place) }
}

/// Start time of a running process in ticks since boot; `None` if there is no such process, or if it has ended and waits
/// for its parent.
fn start_time(pid: Pid) -> Option<u64> {
    process::stat(pid).filter(|stat| !["Z", "X"].contains(&stat.state.as_str())).map(|stat| stat.start)
}

/// Name of the instance of a process.
pub fn name_of(owner: Pid) -> String {
    format!("{PREFIX}{owner}-{}", start_time(owner).unwrap_or_default())
}

/// Time for the threads of a killed process to close their files.
const CLOSING: Duration = Duration::from_secs(2);

/// Whether an instance has this program's name, and its owner has ended.
fn is_dead(name: &str) -> bool {
    let name = name.strip_suffix(REQUESTS).unwrap_or(name);
    let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let Some((Ok(pid), Ok(began))) = owner.map(|(pid, began)| (pid.parse(), began.parse::<u64>())) else {
        return false;
    };
    start_time(pid) != Some(began)
}

/// Record an instance before it is made.
pub fn record(name: &str, records: &Path) -> io::Result<()> {
    fs::create_dir_all(records)?;
    File::create(records.join(name))?.sync_all()?;
    File::open(records)?.sync_all()
}

/// Remove the instances of dead owners. Return the names of the instances that were removed.
pub fn remove_dead(records: &Path) -> Vec<String> {
    let names_in = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_dead(name))
            .collect()
    };
    let recorded = names_in(records);
    // Without tracefs no instance is seen, and the records stay.
    if !recorded.is_empty() && mount().is_err() {
        return Vec::new();
    }
    let dead = names_in(&Path::new(TRACEFS).join("instances"));
    let removed = dead.into_iter().filter(|name| remove_one(name).is_ok()).collect();
    for name in recorded {
        let _ = remove(&name, records);
    }
    removed
}

/// Remove both instances of an owner by their name, then the record. An instance that does not exist is not an error.
pub fn remove(name: &str, records: &Path) -> io::Result<()> {
    remove_one(name).and(remove_one(&format!("{name}{REQUESTS}")))?;
    absent_is_fine(fs::remove_file(records.join(name)))
}

/// Remove an instance. The threads of a killed process close its files after its first thread has ended, and an open file
/// keeps the instance.
fn remove_one(name: &str) -> io::Result<()> {
    let instance = Path::new(TRACEFS).join("instances").join(name);
    let deadline = Instant::now() + CLOSING;
    loop {
        match fs::remove_dir(&instance) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return absent_is_fine(result),
        }
    }
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Clock of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The counter of the loop.
    Counter,
    /// `CLOCK_MONOTONIC_RAW`, printed in microseconds.
    Raw,
}

impl Clock {
    /// Name of the clock in `trace_clock`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "x86-tsc",
            Self::Raw => "mono_raw",
        }
    }

    /// Error of the conversion into counts, in nanoseconds: the kernel prints `mono_raw` in microseconds, and the clock
    /// is read between two readings of the counter.
    pub fn error_ns(self, pair_error_ns: f64) -> f64 {
        match self {
            Self::Counter => 0.0,
            Self::Raw => 1000.0 + pair_error_ns,
        }
    }
}

/// The files of an instance. Dropping the value removes the instance, unless one of the files is open.
#[derive(Debug)]
pub struct Folder {
    /// Folder of the instance.
    pub path: PathBuf,
}

impl Folder {
    /// Create an instance that does not record yet.
    pub fn create(name: &str) -> io::Result<Self> {
        let path = Path::new(TRACEFS).join("instances").join(name);
        fs::create_dir(&path)?;
        let folder = Self { path };
        folder.put("tracing_on", "0")?;
        // When a buffer is full, the oldest events remain: an event without its predecessors has no meaning.
        folder.put("options/overwrite", "0")?;
        Ok(folder)
    }

    /// Write a file of the instance.
    pub fn put(&self, file: &str, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(self.path.join(file))?;
        file.write_all(text.as_bytes())
    }

    /// Choose the best clock that the kernel offers.
    pub fn choose_clock(&self) -> io::Result<Clock> {
        let clocks = fs::read_to_string(self.path.join("trace_clock"))?;
        let offers = |clock: Clock| {
            clocks.split_ascii_whitespace().any(|word| word.trim_matches(['[', ']']) == clock.name())
        };
        let clock = [Clock::Counter, Clock::Raw].into_iter().find(|clock| offers(*clock));
        let clock = clock.ok_or_else(|| io::Error::other(format!("no usable clock in {clocks}")))?;
        self.put("trace_clock", clock.name())?;
        Ok(clock)
    }

    /// Open a pipe of the instance; reading does not wait.
    pub fn pipe(&self, file: &str) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(self.path.join(file))
    }

    /// Events that the buffer of a CPU had no room for.
    pub fn lost(&self, cpu: usize) -> u64 {
        let text = fs::read_to_string(self.path.join(format!("per_cpu/cpu{cpu}/stats"))).unwrap_or_default();
        let value = |line: &str| line.split_once(": ")?.1.trim().parse::<u64>().ok();
        let is_loss = |line: &&str| ["overrun", "dropped events"].iter().any(|name| line.starts_with(name));
        text.lines().filter(is_loss).filter_map(value).sum()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// A set of CPUs as hexadecimal words of 32 bits, the first word last.
pub fn mask(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |word: usize| {
        cpus.iter().filter(|cpu| **cpu / 32 == word).fold(0u32, |mask, cpu| mask | 1 << (cpu % 32))
    };
    (0..words).rev().map(|at| format!("{:08x}", word(at))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
#[path = "../../tests/unit/noise/instances.rs"]
mod tests;
