//! Interrupts that other CPUs request: which task sent them, and from which function of the kernel.
//!
//! The kernel records a request on the CPU that sends it (ipi:ipi_send_cpu and ipi:ipi_send_cpumask, Linux 6.4), with a stack:
//!
//! ```text
//!   rustc-22859   [000] dNs4. 2993333756712: ipi_send_cpu: cpu=1 callsite=update_curr+0x80/0x140 callback=0x0
//!   rustc-22859   [000] dNs4. 2993333829928: <stack trace>
//!  => __resched_curr
//!  => update_curr
//! ```

use std::collections::HashMap;

use super::trace::{Event, Kind, Line, Time, What, task_name};

/// Functions of a stack that are kept, from the innermost on.
const STACK: usize = 16;

/// Kind of an interrupt that another CPU requests. Requests of one kind that meet on their way are one interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A look at the run queue.
    Reschedule,
    /// A call of functions.
    Call,
}

impl Wanted {
    /// The kind of an interrupt's entry; `None` for other events.
    fn of(what: &What) -> Option<Self> {
        match what {
            What::Enter(Kind::Vector | Kind::Ipi, name) => Self::answered_by(name),
            _ => None,
        }
    }

    /// The kind that a cause answers. The names on 64-bit ARM are from arch/arm64/kernel/smp.c.
    fn answered_by(cause: &str) -> Option<Self> {
        match cause {
            "reschedule interrupt" | "ipi Rescheduling interrupts" => Some(Self::Reschedule),
            "call-function interrupt" | "ipi Function call interrupts" => Some(Self::Call),
            _ => None,
        }
    }
}

/// Whether a cause is an interrupt that another CPU requests.
pub fn is_requested(cause: &str) -> bool {
    Wanted::answered_by(cause).is_some()
}

/// Place from which interrupts are requested.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sender {
    /// Task that ran on the CPU, as in the table of causes.
    pub task: String,
    /// The CPU.
    pub cpu: usize,
    /// Return address of the function that requested the interrupt, as a symbol where the kernel has symbols.
    pub callsite: String,
    /// Functions of the stack, the innermost first; empty if the kernel records no stacks.
    pub stack: Vec<String>,
}

impl Sender {
    /// The function that wanted the interrupt: the innermost of the stack outside the layers that send interrupts and wake
    /// tasks; without a stack the function of the call site.
    pub fn function(&self) -> &str {
        let site = self.callsite.split('+').next().unwrap_or_default();
        let stack = || self.stack.iter().map(String::as_str);
        stack().find(|name| !is_layer(name)).or_else(|| stack().next_back()).unwrap_or(site)
    }
}

/// Functions below the function that needed an interrupt (kernel/smp.c, kernel/sched/core.c and fair.c, kernel/sched/wait.c and
/// swait.c, fs/select.c and eventpoll.c, Linux 6.4 to 6.18).
fn is_layer(name: &str) -> bool {
    const PREFIXES: [&str; 28] = [
        "__traceiter_",
        "trace_event_raw_event_",
        "smp_call_function",
        "__smp_call_",
        "on_each_cpu",
        "generic_exec_single",
        "send_call_function",
        "__resched_curr",
        "resched_curr",
        "wakeup_preempt",
        "check_preempt_",
        "ttwu_",
        "__ttwu_",
        "try_to_wake_up",
        "wake_up_",
        "__wake_up",
        "default_wake_function",
        "autoremove_wake_function",
        "ep_autoremove_wake_function",
        "ep_poll_callback",
        "pollwake",
        "dequeue_entit",
        "swake_up_",
        "update_curr",
        "reweight_entity",
        "enqueue_",
        "activate_task",
        "smp_send_reschedule",
    ];
    // Compilers append parts such as ".part.0".
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Time on the clock of the trace.
    pub time: Time,
    /// Its kind.
    pub wanted: Wanted,
    /// CPUs under test among its targets.
    pub targets: Vec<usize>,
    /// Index of its sender.
    pub sender: usize,
}

/// Reader of a text that grows.
#[derive(Debug, Default)]
pub struct Reader {
    cpus: Vec<usize>,
    rest: Vec<u8>,
    /// Request whose sender is complete with the next stack of its CPU.
    waiting: HashMap<usize, (Request, Sender)>,
    /// CPU whose stack is being read.
    stack_of: Option<usize>,
    places: HashMap<Sender, usize>,
    /// All senders.
    pub senders: Vec<Sender>,
    /// All requests, in the order of their reading.
    pub requests: Vec<Request>,
}

impl Reader {
    /// A reader of the requests to `cpus`.
    pub fn new(cpus: &[usize]) -> Self {
        Self { cpus: cpus.to_vec(), ..Self::default() }
    }

    /// Read more of the text.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let rest = self.rest.split_off(end + 1);
        let text = std::mem::replace(&mut self.rest, rest);
        String::from_utf8_lossy(&text).lines().for_each(|line| self.line(line));
    }

    /// Return all requests and senders; the text is complete.
    pub fn finish(mut self) -> (Vec<Request>, Vec<Sender>) {
        let mut cpus: Vec<usize> = self.waiting.keys().copied().collect();
        cpus.sort_unstable();
        cpus.into_iter().for_each(|cpu| self.complete(cpu));
        (self.requests, self.senders)
    }

    fn line(&mut self, line: &str) {
        if let (Some(cpu), Some(name)) = (self.stack_of, line.strip_prefix(" => ")) {
            if let Some((_, sender)) = self.waiting.get_mut(&cpu).filter(|(_, it)| it.stack.len() < STACK) {
                sender.stack.push(name.trim_end().to_owned());
            }
            return;
        }
        if let Some(cpu) = self.stack_of.take() {
            self.complete(cpu);
        }
        let Some(line) = Line::of(line) else { return };
        if line.event.trim_end() == "<stack trace>" {
            self.stack_of = self.waiting.contains_key(&line.cpu).then_some(line.cpu);
            return;
        }
        self.complete(line.cpu);
        if let Some(found) = request(&line, &self.cpus) {
            self.waiting.insert(line.cpu, found);
        }
    }

    fn complete(&mut self, cpu: usize) {
        let Some((request, sender)) = self.waiting.remove(&cpu) else { return };
        let next = self.senders.len();
        let place = *self.places.entry(sender).or_insert_with_key(|sender| {
            self.senders.push(sender.clone());
            next
        });
        self.requests.push(Request { sender: place, ..request });
    }
}

/// The request and its sender, without its stack; `None` for other events and for requests to other CPUs than `cpus`.
fn request(line: &Line<'_>, cpus: &[usize]) -> Option<(Request, Sender)> {
    let (name, fields) = line.event.split_once(": ")?;
    let field = |key: &str| fields.split_once(key)?.1.split(' ').next().map(str::trim_end);
    let is_target = |cpu: usize| match name {
        "ipi_send_cpu" => field("cpu=").and_then(|text| text.parse().ok()) == Some(cpu),
        "ipi_send_cpumask" => field("cpumask=").is_some_and(|mask| has_cpu(mask, cpu)),
        _ => false,
    };
    let targets: Vec<usize> = cpus.iter().copied().filter(|cpu| is_target(*cpu)).collect();
    // Rescheduling has no function (arch_smp_send_reschedule in include/linux/smp.h).
    let wanted = match field("callback=")? {
        "0x0" | "0x0000000000000000" | "(nil)" => Wanted::Reschedule,
        _ => Wanted::Call,
    };
    let task = line.task.rsplit_once('-').map_or(line.task, |(name, _)| name);
    let sender = Sender {
        task: if task == "<idle>" { "idle".to_owned() } else { task_name(task) },
        cpu: line.cpu,
        callsite: field("callsite=")?.to_owned(),
        stack: Vec::new(),
    };
    (!targets.is_empty()).then_some((Request { time: line.time, wanted, targets, sender: 0 }, sender))
}

/// Whether a mask, hexadecimal words of 32 bits with commas, contains a CPU.
fn has_cpu(mask: &str, cpu: usize) -> bool {
    let word = mask.split(',').rev().nth(cpu / 32).and_then(|word| u32::from_str_radix(word, 16).ok());
    word.is_some_and(|word| word >> (cpu % 32) & 1 == 1)
}

/// The requests that the interrupts of a CPU answer, by the place of the interrupt's event. Requests of one kind since the last
/// interrupt of this kind are one interrupt; the first request is its cause.
///
/// Args: the events of the CPU in order; its requests as (count, kind, index), in order; the error of the trace's clock in
/// counts.
pub fn answers(events: &[Event], requests: &[(u64, Wanted, usize)], error: u64) -> HashMap<usize, usize> {
    let mut answers = HashMap::new();
    for kind in [Wanted::Reschedule, Wanted::Call] {
        let mut left = requests.iter().filter(|(_, wanted, _)| *wanted == kind).peekable();
        for (place, event) in events.iter().enumerate().filter(|(_, it)| Wanted::of(&it.what) == Some(kind)) {
            let mut first = None;
            while let Some((_, _, index)) = left.next_if(|(at, ..)| *at <= event.at + error) {
                first = first.or(Some(*index));
            }
            if let Some(first) = first {
                answers.insert(place, first);
            }
        }
    }
    answers
}

#[cfg(test)]
#[path = "../../tests/unit/noise/requests.rs"]
mod tests;
