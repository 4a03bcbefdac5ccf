//! Events of the kernel's trace, read from its text.
//!
//! ```text
//!   python-20441   [001] d.h.. 3961998393230: hrtimer_expire_entry: hrtimer=00000000ac222e2f function=tick_nohz_handler now=17
//!   comm-pid       [cpu] flags time: event: fields
//! ```
//! The time is a number of counts with the trace clock `x86-tsc`, and seconds with six decimals with `mono_raw`.

/// An event of one CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Time in counts of the counter.
    pub at: u64,
    /// Meaning of the event.
    pub what: What,
}

/// Kind of an interval. An exit closes the innermost open interval of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Interrupt by a local vector, such as the local timer's.
    Vector,
    /// Interrupt of a device.
    Irq,
    /// Interrupt from another CPU (64-bit ARM).
    Ipi,
    /// Function that another CPU had called on this CPU.
    Call,
    /// Soft interrupt.
    Softirq,
    /// Function of a timer.
    Timer,
    /// Function of a high-resolution timer.
    Hrtimer,
    /// Function of a work queue.
    Work,
    /// Another task.
    Task,
    /// Non-maskable interrupt.
    Nmi,
}

/// How a task leaves its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The task was preempted, or waits uninterruptibly (state D) within one request to the kernel.
    ToGoOn,
    /// The task waits for work, or has ended.
    Done,
}

impl Leaves {
    /// The meaning of `prev_state` (TASK_REPORT, include/linux/sched.h): `R`, `R+`, `D`, `D|N`, `S`, `I`, … `D|K`
    /// waits killably.
    fn of(state: &str) -> Self {
        if state.starts_with(['R', 'D']) { Self::ToGoOn } else { Self::Done }
    }
}

/// Meaning of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An interval begins.
    Enter(Kind, String),
    /// An interval ends.
    Exit(Kind),
    /// The CPU switches from a task to a task with this name.
    Switch {
        /// Process number of the previous task.
        from: i32,
        /// Process number of the next task.
        to: i32,
        /// Name of the next task.
        name: String,
        /// How the previous task leaves the CPU.
        leaves: Leaves,
    },
    /// A task is woken.
    Wake(i32),
    /// An interval of a known length, in nanoseconds, ends.
    Ended(Kind, String, u64),
    /// The tick stopped, or could not stop for this reason.
    TickStop(String),
}

/// Time of a line: counts, or nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Counts.
    Counts(u64),
    /// Nanoseconds.
    Ns(u64),
}

/// The task that runs when an event is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current<'a> {
    /// Process number.
    pub pid: i32,
    /// Name.
    pub name: &'a str,
    /// Whether the CPU is to switch to another task (the flag `need-resched`).
    pub is_to_switch: bool,
}

/// Whether a line says that events before it are missing.
pub fn is_loss(line: &str) -> bool {
    line.contains(" EVENTS]") && line.starts_with("CPU:")
}

/// A line by its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Task and process number, as `comm-pid`.
    pub task: &'a str,
    /// CPU on which the event was recorded.
    pub cpu: usize,
    /// State of the CPU, a character each (Documentation/trace/ftrace.rst).
    pub flags: &'a str,
    /// Time.
    pub time: Time,
    /// Name and fields.
    pub event: &'a str,
}

impl<'a> Line<'a> {
    /// The columns of a line; `None` if it is not an event.
    pub fn of(line: &'a str) -> Option<Self> {
        let (task, cpu, rest) = at_cpu(line)?;
        let (flags, rest) = rest.split_once(' ')?;
        let (time, event) = rest.trim_start().split_once(": ")?;
        Some(Self { task, cpu, flags, time: parse_time(time)?, event })
    }

    /// The task that runs.
    pub fn current(&self) -> Option<Current<'a>> {
        let (name, pid) = self.task.rsplit_once('-')?;
        let is_to_switch = self.flags.as_bytes().get(1).is_some_and(|flag| *flag != b'.');
        Some(Current { pid: pid.parse().ok()?, name, is_to_switch })
    }

    /// The meaning of the event; `None` if the event is not known.
    pub fn meaning(&self) -> Option<What> {
        let (name, fields) = self.event.split_once(": ").or_else(|| self.event.split_once(':'))?;
        meaning(name, fields, self.cpu)
    }
}

/// The text before the CPU in brackets, the CPU, and the text after it. The name of a task may contain brackets, but the CPU's
/// number has at least three digits and the flags follow.
fn at_cpu(line: &str) -> Option<(&str, usize, &str)> {
    line.match_indices(" [").find_map(|(at, _)| {
        let (number, rest) = line[at + 2..].split_once("] ")?;
        let digits = number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| Some((line[..at].trim(), number.parse().ok()?, rest)))?
    })
}

fn parse_time(text: &str) -> Option<Time> {
    match text.split_once('.') {
        None => text.parse().ok().map(Time::Counts),
        Some((seconds, micros)) if micros.len() == 6 => {
            let (seconds, micros) = (seconds.parse::<u64>().ok()?, micros.parse::<u64>().ok()?);
            Some(Time::Ns(seconds * 1_000_000_000 + micros * 1000))
        }
        Some(_) => None,
    }
}

/// Interrupts by local vectors (arch/x86/include/asm/trace/irq_vectors.h, Linux 6.12) and their names here.
const VECTORS: [(&str, &str); 12] = [
    ("local_timer", "timer interrupt"),
    ("reschedule", "reschedule interrupt"),
    ("call_function", "call-function interrupt"),
    ("call_function_single", "call-function interrupt"),
    ("irq_work", "irq-work interrupt"),
    ("x86_platform_ipi", "platform interrupt"),
    ("thermal_apic", "thermal interrupt"),
    ("threshold_apic", "machine-check threshold interrupt"),
    ("deferred_error_apic", "machine-check deferred-error interrupt"),
    ("error_apic", "APIC error interrupt"),
    ("spurious_apic", "spurious interrupt"),
    ("posted_intr", "posted interrupt"),
];

fn meaning(event: &str, fields: &str, cpu: usize) -> Option<What> {
    use Kind::{Call, Hrtimer, Ipi, Irq, Nmi, Softirq, Timer, Vector, Work};
    let field = |key: &str| word_after(fields, key);
    let known = match event {
        "irq_handler_entry" => What::Enter(Irq, format!("irq {}", fields.split_once("name=")?.1.trim_end())),
        "irq_handler_exit" => What::Exit(Irq),
        "softirq_entry" => What::Enter(
            Softirq,
            format!("softirq {}", fields.split_once("[action=")?.1.trim_end().trim_end_matches(']')),
        ),
        "softirq_exit" => What::Exit(Softirq),
        "timer_expire_entry" => What::Enter(Timer, format!("timer {}", field("function=")?)),
        "timer_expire_exit" => What::Exit(Timer),
        "hrtimer_expire_entry" => What::Enter(Hrtimer, format!("hrtimer {}", field("function=")?)),
        "hrtimer_expire_exit" => What::Exit(Hrtimer),
        "workqueue_execute_start" => What::Enter(Work, word_after(fields, "function ")?.to_owned()),
        "workqueue_execute_end" => What::Exit(Work),
        "csd_function_entry" => What::Enter(Call, format!("call {}", field("func=")?.trim_end_matches(','))),
        "csd_function_exit" => What::Exit(Call),
        "ipi_entry" => What::Enter(Ipi, format!("ipi {}", fields.trim().trim_matches(['(', ')']))),
        "ipi_exit" => What::Exit(Ipi),
        "nmi_handler" => {
            let handler = fields.split("()").next()?.trim();
            let ns = field("delta_ns: ")?.parse::<i64>().ok()?;
            What::Ended(Nmi, format!("nmi {handler}"), ns.max(0) as u64)
        }
        "tick_stop" => {
            let reason = if field("success=")? == "1" { "stopped" } else { field("dependency=")? };
            What::TickStop(reason.to_owned())
        }
        // A task that goes to another CPU is not woken for this CPU.
        "sched_wakeup" if field("target_cpu=")?.parse() == Ok(cpu) => {
            What::Wake(fields.rsplit_once(" pid=")?.1.split(' ').next()?.parse().ok()?)
        }
        "sched_switch" => {
            let (before, after) = fields.rsplit_once(" ==> next_comm=")?;
            let (name, next) = after.rsplit_once(" next_pid=")?;
            What::Switch {
                from: word_after(before, "prev_pid=")?.parse().ok()?,
                to: next.split(' ').next()?.parse().ok()?,
                name: task_name(name),
                leaves: Leaves::of(word_after(before, "prev_state=")?),
            }
        }
        other => {
            let (vector, is_entry) = match (other.strip_suffix("_entry"), other.strip_suffix("_exit")) {
                (Some(vector), _) => (vector, true),
                (_, Some(vector)) => (vector, false),
                _ => return None,
            };
            let (_, name) = VECTORS.iter().find(|(known, _)| *known == vector)?;
            if is_entry { What::Enter(Vector, (*name).to_owned()) } else { What::Exit(Vector) }
        }
    };
    Some(known)
}

/// The word after the last `key`: a task's name, which may contain anything, comes first in its event.
fn word_after<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    fields.rsplit_once(key)?.1.split_ascii_whitespace().next()
}

/// The name of a task without the number of its CPU: `kworker/1:2-events` is `task kworker`, `ksoftirqd/1` is
/// `task ksoftirqd`. The thread of an interrupt keeps its device, as in `task irq/36-eth0`. A CPU without another task runs
/// its idle task.
pub fn task_name(comm: &str) -> String {
    if comm.starts_with("irq/") {
        return format!("task {comm}");
    }
    let (name, number) = comm.split_once('/').unwrap_or((comm, ""));
    let is_numbered =
        number.starts_with(|first: char| first.is_ascii_digit() || first == 'u' || first == 'R');
    let name = if is_numbered { name } else { comm };
    if ["swapper", "<idle>"].contains(&name) { "idle".to_owned() } else { format!("task {name}") }
}

/// Switches that the trace lacks: the state from one event of a CPU to the next.
///
/// Linux 6.18 records no switch from the idle task to another task now and then (5 in 18,000 events of a virtual machine),
/// and its buffers count no loss. The next event names the task that runs.
#[derive(Debug, Default)]
pub struct Switches {
    /// Process number of the task that runs; `None` before the first event and after a loss.
    running: Option<i32>,
    /// Time of the last event, after which the CPU was to switch.
    due: Option<u64>,
}

impl Switches {
    /// Follow an event at `at`. Return the missing switch before the event, if the event shows another task than the last
    /// switch.
    pub fn follow(&mut self, at: u64, current: &Current<'_>, what: &What) -> Option<Event> {
        let from = self.running.replace(current.pid).filter(|running| *running != current.pid);
        let missing = from.map(|from| Event {
            at: self.due.unwrap_or(at),
            what: What::Switch { from, to: current.pid, name: task_name(current.name), leaves: Leaves::Done },
        });
        if let What::Switch { to, .. } = what {
            self.running = Some(*to);
        }
        self.due = current.is_to_switch.then_some(at);
        missing
    }

    /// Events are missing: the running task is not known.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/noise/trace.rs"]
mod tests;
