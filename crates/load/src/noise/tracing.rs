//! Two private instances of the kernel's trace, with their own buffers, events and clock: one records on the CPUs under test,
//! and one records the requests of all CPUs to these CPUs. Other users of the trace are not affected.

use std::fs::{self, File};
use std::io::{self, Read};

use super::instances::{Clock, Folder, REQUESTS, mask};
use super::requests::{Reader, Request, Sender};
use super::trace::{self, Event, Line, Switches, Time};
use crate::sys::counter::{Pair, Rate};

/// Bytes of the largest buffer of a CPU.
const LARGEST_BUFFER: u64 = 64 << 20;
/// Bytes of the buffer of a CPU that another CPU empties.
const DRAINED_BUFFER: u64 = 8 << 20;
/// Bytes of events per second that the buffer of a CPU takes when no other CPU can empty it: about 60,000 events.
const BYTES_PER_SECOND: u64 = 2 << 20;

/// Events of the causes. Events that the kernel lacks are not recorded; a folder stands for all its entry and exit events.
const EVENTS: [&str; 19] = [
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
];

/// A private instance that records on the CPUs under test. Dropping the value removes the instance.
#[derive(Debug)]
pub struct Instance {
    /// Clock of the events.
    pub clock: Clock,
    /// Enabled events.
    pub events: Vec<String>,
    pipes: Vec<(usize, File)>,
    texts: Vec<(usize, Vec<u8>)>,
    // The last field: its files are closed before it is removed.
    folder: Folder,
}

impl Instance {
    /// Create an instance that will record on `cpus`. The buffers take `seconds` of events, or less if `is_drained`:
    /// [`Self::drain`] is called ten times a second.
    pub fn create(name: &str, cpus: &[usize], seconds: f64, is_drained: bool) -> io::Result<Self> {
        let folder = Folder::create(name)?;
        let clock = folder.choose_clock()?;
        folder.put("tracing_cpumask", &mask(cpus))?;
        let bytes = match is_drained {
            true => DRAINED_BUFFER,
            false => (DRAINED_BUFFER + (seconds * BYTES_PER_SECOND as f64) as u64).min(LARGEST_BUFFER),
        };
        let (mut pipes, mut texts) = (Vec::new(), Vec::new());
        for cpu in cpus {
            folder.put(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), &(bytes >> 10).to_string())?;
            pipes.push((*cpu, folder.pipe(&format!("per_cpu/cpu{cpu}/trace_pipe"))?));
            texts.push((*cpu, Vec::new()));
        }
        let mut instance = Self { clock, events: Vec::new(), pipes, texts, folder };
        for event in EVENTS {
            instance.enable(event);
        }
        if instance.events.is_empty() {
            return Err(io::Error::other("the kernel has none of the events"));
        }
        instance.folder.put("tracing_on", "1")?;
        Ok(instance)
    }

    /// Enable an event, or the entry and exit events of a folder.
    fn enable(&mut self, event: &str) {
        let Some(system) = event.strip_suffix("/*") else {
            if self.folder.put(&format!("events/{event}/enable"), "1").is_ok() {
                self.events.push(event.to_owned());
            }
            return;
        };
        let entries =
            fs::read_dir(self.folder.path.join("events").join(system)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        for name in names.iter().filter(|name| name.ends_with("_entry") || name.ends_with("_exit")) {
            self.enable(&format!("{system}/{name}"));
        }
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
        self.folder.put("tracing_on", "0")?;
        self.drain();
        let lost: Vec<u64> = self.pipes.iter().map(|(cpu, _)| self.folder.lost(*cpu)).collect();
        let texts = std::mem::take(&mut self.texts);
        let convert = |(text, lost): ((usize, Vec<u8>), u64)| (text.0, events(&text.1, pair, rate), lost);
        Ok(texts.into_iter().zip(lost).map(convert).collect())
    }
}

/// Bytes of the buffer of each CPU for requests, which another CPU empties.
const DRAINED_REQUESTS: u64 = 1 << 20;
/// Bytes of requests per second that the buffer of a CPU takes when no other CPU can empty it: about 500 requests.
const REQUEST_BYTES_PER_SECOND: u64 = 128 << 10;
/// Bytes of the largest buffer of a CPU for requests.
const LARGEST_REQUESTS: u64 = 8 << 20;

/// A private instance that records the requests of all CPUs to the CPUs under test. Dropping the value removes the
/// instance.
#[derive(Debug)]
pub struct RequestInstance {
    reader: Reader,
    pipe: File,
    // The last field: its files are closed before it is removed.
    folder: Folder,
}

impl RequestInstance {
    /// Create the instance beside the instance `name`; an error if the kernel has no events of requests (before Linux
    /// 6.4).
    pub fn create(name: &str, cpus: &[usize], seconds: f64, is_drained: bool) -> io::Result<Self> {
        let folder = Folder::create(&format!("{name}{REQUESTS}"))?;
        folder.choose_clock()?;
        let bytes = match is_drained {
            true => DRAINED_REQUESTS,
            false => {
                (DRAINED_REQUESTS + (seconds * REQUEST_BYTES_PER_SECOND as f64) as u64).min(LARGEST_REQUESTS)
            }
        };
        folder.put("buffer_size_kb", &(bytes >> 10).to_string())?;
        let pipe = folder.pipe("trace_pipe")?;
        let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        let of_cpu = list.iter().map(|cpu| format!("cpu == {cpu}")).collect::<Vec<_>>().join(" || ");
        // Filters of masks exist from Linux 6.7 on. Without a filter, the reader discards the other requests.
        let of_mask = format!("cpumask & CPUS{{{}}}", list.join(","));
        let mut found = false;
        for (event, filter) in [("ipi_send_cpu", of_cpu), ("ipi_send_cpumask", of_mask)] {
            let event = format!("events/ipi/{event}");
            if folder.put(&format!("{event}/filter"), &filter).is_ok() {
                // Without stacks the call site remains.
                let _ = folder.put(&format!("{event}/trigger"), &format!("stacktrace if {filter}"));
            }
            found |= folder.put(&format!("{event}/enable"), "1").is_ok();
        }
        if !found {
            return Err(io::Error::other("the kernel has no events of requests between CPUs (Linux 6.4)"));
        }
        folder.put("tracing_on", "1")?;
        Ok(Self { reader: Reader::new(cpus), pipe, folder })
    }

    /// Move the recorded requests into the memory of this process.
    pub fn drain(&mut self) {
        let mut text = Vec::new();
        // The pipe is never at its end: without events, reading fails with EAGAIN.
        let _ = self.pipe.read_to_end(&mut text);
        self.reader.feed(&text);
    }

    /// Stop recording. Return the requests, their senders, and the number of requests that were lost.
    pub fn finish(mut self) -> io::Result<(Vec<Request>, Vec<Sender>, u64)> {
        self.folder.put("tracing_on", "0")?;
        self.drain();
        let names = fs::read_dir(self.folder.path.join("per_cpu"))?;
        let cpus =
            names.flatten().filter_map(|it| it.file_name().to_str()?.strip_prefix("cpu")?.parse().ok());
        let lost = cpus.map(|cpu: usize| self.folder.lost(cpu)).sum();
        let (requests, senders) = self.reader.finish();
        Ok((requests, senders, lost))
    }
}

/// An instant of the trace on the counter.
pub fn count_at(time: Time, pair: Pair, rate: Rate) -> u64 {
    match time {
        Time::Counts(count) => count,
        Time::Ns(ns) if ns >= pair.raw_ns => pair.count + rate.counts((ns - pair.raw_ns) as f64),
        Time::Ns(ns) => pair.count.saturating_sub(rate.counts((pair.raw_ns - ns) as f64)),
    }
}

/// The events of a CPU's text, on the counter, with the switches that the text lacks.
fn events(text: &[u8], pair: Pair, rate: Rate) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut switches = Switches::default();
    for line in String::from_utf8_lossy(text).lines() {
        if trace::is_loss(line) {
            switches.forget();
        }
        let Some(line) = Line::of(line) else { continue };
        let (Some(current), Some(what)) = (line.current(), line.meaning()) else { continue };
        let at = count_at(line.time, pair, rate);
        events.extend(switches.follow(at, &current, &what));
        events.push(Event { at, what });
    }
    events
}
