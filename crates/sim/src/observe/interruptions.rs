//! Observer of the time in which the program's tasks do not run on their CPUs, divided by cause.

use super::{Birth, Observer};
use crate::ledger::Account;
use crate::sched::TaskIx;
use crate::time::Ns;

/// Cause of a part of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Kernel work of an account, or idleness.
    Account(Account),
    /// Function of a work queue, executed by a kernel thread.
    Work(&'static str),
}

impl Cause {
    /// Name in reports: the name in `schedload noise` for what a real kernel's trace shows too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Work(function) => function,
            Self::Account(Account::Tick) => "tick",
            Self::Account(Account::Timer) => "timer interrupt",
            Self::Account(Account::Ipi) => "reschedule interrupt",
            Self::Account(Account::Switch) => "task switch",
            Self::Account(Account::Wakeup) => "wake-up",
            Self::Account(Account::Search) => "search of an idle CPU",
            Self::Account(Account::Cache) => "cache refill",
            Self::Account(Account::Balance | Account::NewidleBalance) => "load balancing",
            Self::Account(Account::NumaScan) => "task_numa_work",
            Self::Account(account) => account.name(),
        }
    }
}

/// Time of a cause without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The cause.
    pub cause: Cause,
    /// Length.
    pub ns: Ns,
}

/// Time without a break in which a CPU did not run the program. Its parts sum to its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interruption {
    /// The CPU.
    pub cpu: usize,
    /// Virtual time of its start.
    pub at: Ns,
    /// Parts in order of time; neighbours have different causes.
    pub parts: Vec<Part>,
}

/// Collects the interruptions of some CPUs between two instants.
///
/// A program's task runs while it computes, including slowdowns by other CPUs and system calls. All other time of its CPU
/// interrupts it: interrupts, other tasks, switches, and refilling its caches afterwards. An interruption counts if its
/// CPU ran the program before and after it, and if it begins between the instants.
pub struct Interruptions {
    from: Ns,
    until: Ns,
    cpus: Vec<Option<Cpu>>,
    /// Function of each task that is a kernel thread, by index.
    threads: Vec<Option<&'static str>>,
    ended: Vec<Interruption>,
}

/// State of a CPU.
#[derive(Default)]
struct Cpu {
    current: Option<TaskIx>,
    has_run: bool,
    open: Option<(Ns, Vec<Part>)>,
}

impl Interruptions {
    /// Observer of these CPUs.
    pub fn new(cpus: &[usize], from: Ns, until: Ns) -> Self {
        let count = cpus.iter().max().map_or(0, |last| last + 1);
        let watched = |cpu| cpus.contains(&cpu).then(Cpu::default);
        Self { from, until, cpus: (0..count).map(watched).collect(), threads: Vec::new(), ended: Vec::new() }
    }

    /// The interruptions, in the order of their ends. Only interruptions that have ended count.
    pub fn into_all(self) -> Vec<Interruption> {
        self.ended
    }
}

/// Whether a program's task makes progress, or requested the work.
fn runs(account: Account) -> bool {
    matches!(
        account,
        Account::User
            | Account::Syscall
            | Account::Messages
            | Account::Smt
            | Account::Remote
            | Account::Bandwidth
            | Account::Fault
            | Account::Family
    )
}

/// Whether a kernel thread spends the time itself.
fn is_own_work(account: Account) -> bool {
    matches!(account, Account::User | Account::Vmstat | Account::Cache | Account::Syscall)
}

impl Observer for Interruptions {
    fn created(&mut self, _: Ns, _: usize, birth: Birth<'_>) {
        let at = birth.task as usize;
        self.threads.resize(self.threads.len().max(at + 1), None);
        self.threads[at] = birth.work;
    }

    fn switched(&mut self, _: Ns, cpu: usize, _: Option<TaskIx>, to: Option<TaskIx>) {
        if let Some(Some(cpu)) = self.cpus.get_mut(cpu) {
            cpu.current = to;
        }
    }

    fn spent(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {
        let Some(Some(state)) = self.cpus.get_mut(cpu) else { return };
        if ns == 0 {
            return;
        }
        let thread = state.current.and_then(|task| self.threads[task as usize]);
        if state.current.is_some() && thread.is_none() && runs(account) {
            state.has_run = true;
            if let Some((at, parts)) = state.open.take()
                && at >= self.from
                && at < self.until
            {
                self.ended.push(Interruption { cpu, at, parts });
            }
            return;
        }
        if !state.has_run {
            return;
        }
        let cause = match thread {
            Some(function) if is_own_work(account) => Cause::Work(function),
            _ => Cause::Account(account),
        };
        let (_, parts) = state.open.get_or_insert_with(|| (from, Vec::new()));
        match parts.last_mut() {
            Some(last) if last.cause == cause => last.ns += ns,
            _ => parts.push(Part { cause, ns }),
        }
    }
}
