//! A private instance of the kernel's trace (Documentation/trace/ftrace.rst, "Instances"): its own buffers, events and clock.
//! No other user of the trace notices it.
//!
//! An instance outlives its processes. Its name contains number and start time of its owner, so that the next start removes
//! the instances of killed owners. The kernel refuses to remove an instance with open files, which protects the instances of
//! owners that this process cannot see, in other containers.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::trace::{self, Event, Time, What};
use crate::sys::counter::{Pair, Rate};
use crate::sys::process::Pid;

/// Usual place of tracefs.
const TRACEFS: &str = "/sys/kernel/tracing";
/// Beginning of the names of instances.
const PREFIX: &str = "schedlab-noise-";
/// Bytes of the largest buffer of a CPU.
const LARGEST_BUFFER: u64 = 64 << 20;
/// Bytes of the buffer of a CPU that another CPU empties.
const DRAINED_BUFFER: u64 = 8 << 20;
/// Bytes of events per second that the buffer of a CPU takes when no other CPU can empty it: about 60,000 events.
const BYTES_PER_SECOND: u64 = 2 << 20;

/// Events of the causes. A kernel without an event does without it; a folder stands for all its entry and exit events.
const EVENTS: [&str; 20] = [
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/*",
    "ipi/ipi_entry",
    "ipi/ipi_exit",
    "csd/csd_function_entry",
    "csd/csd_function_exit",
    "timer/timer_expire_entry",
    "timer/timer_expire_exit",
    "timer/hrtimer_expire_entry",
    "timer/hrtimer_expire_exit",
    "timer/tick_stop",
    "workqueue/workqueue_execute_start",
    "workqueue/workqueue_execute_end",
    "sched/sched_switch",
    "sched/sched_wakeup",
    "nmi/nmi_handler",
    "mce/mce_record",
];

/// Make tracefs available at its place for this process and its children. If tracefs is not mounted, this process gets a
/// mount namespace, and the mount ends with the processes in it.
pub fn mount() -> io::Result<()> {
    use nix::mount::{MsFlags, mount};
    if Path::new(TRACEFS).join("instances").is_dir() {
        return Ok(());
    }
    let none: Option<&str> = None;
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(mount(Some("schedlab"), Path::new(TRACEFS), Some("tracefs"), flags, none)?)
}

/// Start time of a running process in ticks since boot (proc_pid_stat(5), field 22); `None` if there is no such process,
/// or if it has ended and waits for its parent.
fn start_time(pid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| !["Z", "X"].contains(&state))
}

/// Name of the instance of a process.
pub fn name_of(owner: Pid) -> String {
    format!("{PREFIX}{owner}-{}", start_time(owner).unwrap_or_default())
}

/// Time for the threads of a killed process to close their files.
const CLOSING: Duration = Duration::from_secs(2);

/// Whether an instance has this program's name, and its owner has ended.
fn is_dead(name: &str) -> bool {
    let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let Some((Ok(pid), Ok(began))) = owner.map(|(pid, began)| (pid.parse(), began.parse::<u64>())) else {
        return false;
    };
    start_time(pid) != Some(began)
}

/// Remove the instances of dead owners. Return the names of the instances that were removed.
pub fn remove_dead() -> Vec<String> {
    let instances = Path::new(TRACEFS).join("instances");
    let entries = fs::read_dir(&instances).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let dead: Vec<String> = names.filter(|name| is_dead(name)).collect();
    let deadline = Instant::now() + CLOSING;
    dead.into_iter().filter(|name| remove_when_closed(&instances.join(name), deadline)).collect()
}

/// Remove an instance; false unless it is removed before the deadline. The threads of a killed process close its files
/// after its first thread has ended, and an open file keeps the instance.
fn remove_when_closed(instance: &Path, deadline: Instant) -> bool {
    loop {
        match fs::remove_dir(instance) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result.is_ok(),
        }
    }
}

/// Remove an instance by its name. An instance that does not exist is not an error.
pub fn remove(name: &str) -> io::Result<()> {
    match fs::remove_dir(Path::new(TRACEFS).join("instances").join(name)) {
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

/// A private instance that records. Dropping it removes it.
#[derive(Debug)]
pub struct Instance {
    name: String,
    folder: PathBuf,
    /// Clock of the events.
    pub clock: Clock,
    /// Enabled events.
    pub events: Vec<String>,
    pipes: Vec<(usize, File)>,
    texts: Vec<(usize, Vec<u8>)>,
}

impl Instance {
    /// Create an instance that will record on `cpus`. The buffers take `seconds` of events, or less if `is_drained`:
    /// [`Self::drain`] is called ten times a second.
    pub fn create(name: &str, cpus: &[usize], seconds: f64, is_drained: bool) -> io::Result<Self> {
        let folder = Path::new(TRACEFS).join("instances").join(name);
        fs::create_dir(&folder)?;
        let mut instance = Self {
            name: name.to_owned(),
            folder,
            clock: Clock::Raw,
            events: Vec::new(),
            pipes: Vec::new(),
            texts: Vec::new(),
        };
        instance.set_up(cpus, seconds, is_drained)?;
        Ok(instance)
    }

    fn set_up(&mut self, cpus: &[usize], seconds: f64, is_drained: bool) -> io::Result<()> {
        self.put("tracing_on", "0")?;
        let clocks = fs::read_to_string(self.folder.join("trace_clock"))?;
        let offers = |clock: Clock| {
            clocks.split_ascii_whitespace().any(|word| word.trim_matches(['[', ']']) == clock.name())
        };
        let clock = [Clock::Counter, Clock::Raw].into_iter().find(|clock| offers(*clock));
        self.clock = clock.ok_or_else(|| io::Error::other(format!("no usable clock in {clocks}")))?;
        self.put("trace_clock", self.clock.name())?;
        // When a buffer is full, the oldest events remain: an event without its predecessors has no meaning.
        self.put("options/overwrite", "0")?;
        self.put("tracing_cpumask", &mask(cpus))?;
        let bytes = match is_drained {
            true => DRAINED_BUFFER,
            false => (DRAINED_BUFFER + (seconds * BYTES_PER_SECOND as f64) as u64).min(LARGEST_BUFFER),
        };
        for cpu in cpus {
            self.put(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), &(bytes >> 10).to_string())?;
            let pipe = self.folder.join(format!("per_cpu/cpu{cpu}/trace_pipe"));
            let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(pipe)?;
            self.pipes.push((*cpu, pipe));
            self.texts.push((*cpu, Vec::new()));
        }
        for event in EVENTS {
            self.enable(event);
        }
        if self.events.is_empty() {
            return Err(io::Error::other("the kernel has none of the events"));
        }
        self.put("tracing_on", "1")
    }

    /// Enable an event, or the entry and exit events of a folder.
    fn enable(&mut self, event: &str) {
        let Some(system) = event.strip_suffix("/*") else {
            if self.put(&format!("events/{event}/enable"), "1").is_ok() {
                self.events.push(event.to_owned());
            }
            return;
        };
        let entries = fs::read_dir(self.folder.join("events").join(system)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in names.iter().filter(|name| name.ends_with("_entry") || name.ends_with("_exit")) {
            self.enable(&format!("{system}/{name}"));
        }
    }

    fn put(&self, file: &str, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(self.folder.join(file))?;
        file.write_all(text.as_bytes())
    }

    /// Move the recorded events into the memory of this process.
    pub fn drain(&mut self) {
        for ((_, pipe), (_, text)) in self.pipes.iter_mut().zip(&mut self.texts) {
            // The pipe is never at its end: without events, reading fails with EAGAIN.
            let _ = pipe.read_to_end(text);
        }
    }

    /// Stop recording and return the events of each CPU in order, with the number of events that were lost.
    ///
    /// `pair` and `rate` convert a clock other than the counter.
    pub fn finish(mut self, pair: Pair, rate: Rate) -> io::Result<Vec<(usize, Vec<Event>, u64)>> {
        self.put("tracing_on", "0")?;
        self.drain();
        let lost: Vec<u64> = self.pipes.iter().map(|(cpu, _)| self.lost(*cpu)).collect();
        let texts = std::mem::take(&mut self.texts);
        let convert = |(text, lost): ((usize, Vec<u8>), u64)| (text.0, events(&text.1, pair, rate), lost);
        Ok(texts.into_iter().zip(lost).map(convert).collect())
    }

    /// Events that the buffer of a CPU had no room for.
    fn lost(&self, cpu: usize) -> u64 {
        let text =
            fs::read_to_string(self.folder.join(format!("per_cpu/cpu{cpu}/stats"))).unwrap_or_default();
        let value = |line: &str| line.split_once(": ")?.1.trim().parse::<u64>().ok();
        let is_loss = |line: &&str| ["overrun", "dropped events"].iter().any(|name| line.starts_with(name));
        text.lines().filter(is_loss).filter_map(value).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.pipes.clear();
        let _ = remove(&self.name);
    }
}

/// The events of a text, on the counter.
fn events(text: &[u8], pair: Pair, rate: Rate) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for line in String::from_utf8_lossy(text).lines() {
        let Some((time, what)) = trace::parse(line) else { continue };
        let at = match time {
            _ if what == What::Lost => events.last().map_or(0, |event| event.at),
            Time::Counts(count) => count,
            Time::Ns(ns) if ns >= pair.raw_ns => pair.count + rate.counts((ns - pair.raw_ns) as f64),
            Time::Ns(ns) => pair.count.saturating_sub(rate.counts((pair.raw_ns - ns) as f64)),
        };
        events.push(Event { at, what });
    }
    events
}

/// A set of CPUs as hexadecimal words of 32 bits, the first word last.
fn mask(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |word: usize| {
        cpus.iter().filter(|cpu| **cpu / 32 == word).fold(0u32, |mask, cpu| mask | 1 << (cpu % 32))
    };
    (0..words).rev().map(|at| format!("{:08x}", word(at))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{is_dead, mask, name_of};
    use crate::sys::process::own_pid;

    #[test]
    fn masks_have_the_kernels_notation() {
        assert_eq!(mask(&[0, 1, 5]), "00000023");
        assert_eq!(mask(&[1, 33]), "00000002,00000002");
    }

    #[test]
    fn only_instances_of_dead_owners_are_dead() {
        assert!(!is_dead(&name_of(own_pid())));
        assert!(is_dead(&format!("schedlab-noise-{}-1", own_pid())), "the same number, another process");
        // Larger than every process number (PID_MAX_LIMIT is 2^22).
        assert!(is_dead("schedlab-noise-4194305-77"));
        for foreign in ["trace-cmd", "schedlab-noise-", "schedlab-noise-x-1", "schedlab-noise-1"] {
            assert!(!is_dead(foreign), "{foreign}");
        }
    }
}
