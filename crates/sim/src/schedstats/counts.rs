//! The counters, by the kernel's names (Documentation/scheduler/sched-stats.rst; `sched_statistics` for tasks).

use crate::time::Ns;

/// Counters of a runqueue: the `cpuN` line of `/proc/schedstat`.
///
/// Kernels keep the last three independent of the switch. The simulator stops these counters with the other counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuCounts {
    /// Calls of `sched_yield`.
    pub yld_count: u64,
    /// Calls of `schedule`.
    pub sched_count: u64,
    /// Calls that left the CPU idle.
    pub sched_goidle: u64,
    /// Wake-ups by this CPU.
    pub ttwu_count: u64,
    /// Wake-ups onto this CPU's queue.
    pub ttwu_local: u64,
    /// Time that tasks ran.
    pub rq_cpu_time_ns: Ns,
    /// Time that tasks waited on this queue.
    pub run_delay_ns: Ns,
    /// Times that a task got the CPU.
    pub pcount: u64,
}

/// Balancing passes of one kind (busy, idle, newly idle): a third of a `domainN` line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassCounts {
    /// Passes, including passes left to another CPU of the group.
    pub lb_count: u64,
    /// Passes that found no imbalance.
    pub lb_balanced: u64,
    /// Passes that found an imbalance and moved no task.
    pub lb_failed: u64,
    /// Sum of the imbalances, as load.
    pub lb_imbalance_load: u64,
    /// Sum of the imbalances, as utilisation.
    pub lb_imbalance_util: u64,
    /// Sum of the imbalances, as tasks.
    pub lb_imbalance_task: u64,
    /// Tasks pulled.
    pub lb_gained: u64,
    /// Pulled tasks that were cache-hot.
    pub lb_hot_gained: u64,
    /// Passes that found a busier group, and no queue in it with a task to move.
    pub lb_nobusyq: u64,
    /// Passes that found no busier group.
    pub lb_nobusyg: u64,
}

/// Counters of a CPU's domain: a `domainN` line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DomainCounts {
    /// Passes by busy, by idle, and by newly idle CPUs.
    pub passes: [PassCounts; 3],
    /// Active balancing: attempts.
    pub alb_count: u64,
    /// Failed attempts.
    pub alb_failed: u64,
    /// Attempts that moved the running task.
    pub alb_pushed: u64,
    /// Wake-ups by this CPU onto another CPU's queue, if this domain is the narrowest domain with both CPUs.
    pub ttwu_wake_remote: u64,
    /// Wake-ups that pulled the task to this CPU, if this domain is the narrowest domain that contains the task's last
    /// CPU.
    pub ttwu_move_affine: u64,
}

/// Counters of a task: the statistics of `/proc/PID/sched`. The simulator has no disks, so no task is blocked in the kernel's
/// sense or waits for I/O.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Time asleep.
    pub sum_sleep_runtime_ns: Ns,
    /// The longest sleep.
    pub sleep_max_ns: Ns,
    /// Time on queues.
    pub wait_sum_ns: Ns,
    /// Waits that ended with a CPU.
    pub wait_count: u64,
    /// The longest wait.
    pub wait_max_ns: Ns,
    /// Moves that balancing refused because of the task's CPU set.
    pub nr_failed_migrations_affine: u64,
    /// Moves refused because the task was cache-hot.
    pub nr_failed_migrations_hot: u64,
    /// Moves of the task in spite of being cache-hot.
    pub nr_forced_migrations: u64,
    /// Wake-ups.
    pub nr_wakeups: u64,
    /// Wake-ups by a waker about to sleep.
    pub nr_wakeups_sync: u64,
    /// Wake-ups onto a CPU other than the task's last CPU.
    pub nr_wakeups_migrate: u64,
    /// Wake-ups onto the waker's CPU.
    pub nr_wakeups_local: u64,
    /// Wake-ups onto another CPU than the waker's CPU.
    pub nr_wakeups_remote: u64,
    /// Wake-ups that pulled the task to the waker's CPU.
    pub nr_wakeups_affine: u64,
    /// Wake-ups that considered pulling the task.
    pub nr_wakeups_affine_attempts: u64,
}
