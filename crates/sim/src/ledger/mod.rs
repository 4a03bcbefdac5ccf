//! The overhead ledger: every nanosecond of every CPU belongs to exactly one account.
//!
//! A CPU's accounts always sum to its clock, the time up to which its time is accounted for. Kernel work that has begun when
//! the program ends is completed, so that the ledger closes a little later than the program:
//! [`Ledger::closed_ns`] × CPUs is the sum of all accounts.

use crate::table::Table;
use crate::time::Ns;

macro_rules! accounts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Use of a CPU's time.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
        #[repr(u8)]
        pub enum Account {
            $($(#[$doc])* $variant,)*
        }

        impl Account {
            /// All accounts.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

// Accounts that nearly every event adds to come first, so that they share cache lines.
accounts! {
    /// The program's work at full speed.
    #[default]
    User = "user",
    /// Refilling caches after a switch or a migration, and reading data from the local node's memory.
    Cache = "cache",
    /// System calls: entry, copying, protocol work, futexes.
    Syscall = "syscall",
    /// Taking a task that waits off its queue, choosing the next task and switching to it.
    Switch = "switch",
    /// Making tasks runnable.
    Wakeup = "wakeup",
    /// Searching an idle CPU for a waking task.
    Search = "idle_search",
    /// Timer interrupts.
    Timer = "timer_irq",
    /// Idle time.
    Idle = "idle",
    /// Leaving idle states.
    IdleExit = "idle_exit",
    /// Interrupts between CPUs.
    Ipi = "ipi",
    /// Ticks.
    Tick = "tick",
    /// Fetching lines of messages that another CPU wrote.
    Messages = "message_lines",
    /// Balancing passes of CPUs about to become idle.
    NewidleBalance = "newidle_balance",
    /// Waiting for locks of runqueues and pipes.
    LockWait = "lock_wait",
    /// Slowdown by SMT siblings.
    Smt = "smt",
    /// Additional time of reading data from the memory of other nodes.
    Remote = "remote_memory",
    /// Waiting for a node's memory bandwidth.
    Bandwidth = "memory_bandwidth",
    /// Page faults of first touches.
    Fault = "page_fault",
    /// Fork, exec, exit, wait.
    Family = "fork_exec_exit",
    /// Balancing passes of busy and idle CPUs.
    Balance = "balance",
    /// Folding vmstat counters, and checking which CPUs need folding.
    Vmstat = "vmstat",
    /// Marking pages for hinting faults.
    NumaScan = "numa_scan",
    /// Hinting faults.
    NumaFault = "numa_hint_fault",
    /// Copying pages to another node.
    NumaMigrate = "numa_migrate",
    /// Searching a CPU on a task's preferred node, and moving the task.
    NumaPlace = "numa_placement",
    /// Waiting for cache lines that several CPUs modify.
    Lines = "shared_lines",
    /// Updating scheduler statistics while the statistics are on.
    Schedstats = "schedstats",
    /// Interruptions by the machine's background noise: the hypervisor, kernel threads, interrupts.
    Noise = "noise",
}

impl Account {
    /// Number of accounts.
    pub const COUNT: usize = Self::ALL.len();

    /// Whether the time counts as a task's user time.
    #[inline]
    pub fn is_user(self) -> bool {
        const OF_USER: u32 = 1 << Account::User as u32
            | 1 << Account::Cache as u32
            | 1 << Account::Smt as u32
            | 1 << Account::Remote as u32
            | 1 << Account::Bandwidth as u32;
        OF_USER >> self as u32 & 1 == 1
    }
}

/// A CPU's accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
struct Accounts([Ns; Account::COUNT]);

/// All CPUs' accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    cpus: Table<Accounts>,
    closed_ns: Ns,
}

impl Ledger {
    /// Empty accounts of `cpus` CPUs.
    pub(crate) fn new(cpus: usize) -> Self {
        // SAFETY: by CPU, with an entry for each CPU of the topology; the public methods check.
        Self { cpus: unsafe { Table::trusted(vec![Accounts([0; Account::COUNT]); cpus]) }, closed_ns: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, cpu: usize, account: Account, ns: Ns) {
        self.cpus[cpu].0[account as usize] += ns;
    }

    pub(crate) fn close(&mut self, at: Ns) {
        self.closed_ns = at;
    }

    /// Time at which the ledger was closed.
    pub fn closed_ns(&self) -> Ns {
        self.closed_ns
    }

    /// Time of an account on a CPU.
    pub fn of(&self, cpu: usize, account: Account) -> Ns {
        self.checked(cpu)[account as usize]
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Sum of a CPU's accounts.
    pub fn cpu_total(&self, cpu: usize) -> Ns {
        self.checked(cpu).iter().sum()
    }

    fn checked(&self, cpu: usize) -> &[Ns; Account::COUNT] {
        &self.cpus.get(cpu).expect("a CPU of the machine").0
    }

    /// Time of an account on all CPUs.
    pub fn total(&self, account: Account) -> Ns {
        self.cpus.iter().map(|accounts| accounts.0[account as usize]).sum()
    }
}
