//! The counters, by the kernel's names (Documentation/scheduler/sched-stats.rst; `sched_statistics` for tasks).

use crate::time::Ns;

/// Of a runqueue: the `cpuN` line of `/proc/schedstat`.
///
/// A kernel keeps the last three whatever the switch says; here they stand still with the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuCounts {
    /// Calls of `sched_yield`.
    pub yld_count: u64,
    /// Calls of `schedule`.
    pub sched_count: u64,
    /// Of these, those that left the CPU idle.
    pub sched_goidle: u64,
    /// Wake-ups by this CPU.
    pub ttwu_count: u64,
    /// Of these, those onto its own queue.
    pub ttwu_local: u64,
    /// Time that tasks ran.
    pub rq_cpu_time_ns: Ns,
    /// Time that they waited on this queue.
    pub run_delay_ns: Ns,
    /// Times that a task got the CPU.
    pub pcount: u64,
}

/// Balancing passes of one kind of idleness: a third of a `domainN` line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassCounts {
    /// Passes, and looks that another CPU of the group makes in place of this one.
    pub lb_count: u64,
    /// Of these, those that found nothing to do.
    pub lb_balanced: u64,
    /// Of these, those that found something and moved nothing.
    pub lb_failed: u64,
    /// Sum of the imbalances found, as load.
    pub lb_imbalance_load: u64,
    /// As tasks.
    pub lb_imbalance_task: u64,
    /// Tasks pulled.
    pub lb_gained: u64,
    /// Of these, those that were cache-hot.
    pub lb_hot_gained: u64,
    /// Passes that found no busier group.
    pub lb_nobusyg: u64,
}

/// Of one CPU's domain: a `domainN` line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DomainCounts {
    /// Passes by busy, by idle, and by newly idle CPUs.
    pub passes: [PassCounts; 3],
    /// Active balancing: tries.
    pub alb_count: u64,
    /// Of these, failed.
    pub alb_failed: u64,
    /// Of these, those that moved the running task.
    pub alb_pushed: u64,
    /// Wake-ups by this CPU onto another one's queue, this being the narrowest domain with both.
    pub ttwu_wake_remote: u64,
    /// Wake-ups that pulled the task to this CPU, this being the narrowest domain with its last one.
    pub ttwu_move_affine: u64,
}

/// Of a task: the statistics of `/proc/PID/sched`. There are no disks here, so nobody is blocked in the kernel's sense, and
/// nobody waits for input or output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Time asleep, and the longest.
    pub sum_sleep_runtime_ns: Ns,
    /// The longest sleep.
    pub sleep_max_ns: Ns,
    /// Time on queues, and how often.
    pub wait_sum_ns: Ns,
    /// Waits that ended with a CPU.
    pub wait_count: u64,
    /// The longest wait.
    pub wait_max_ns: Ns,
    /// Times that balancing did not move it: it may not run there.
    pub nr_failed_migrations_affine: u64,
    /// It was running.
    pub nr_failed_migrations_running: u64,
    /// It was cache-hot.
    pub nr_failed_migrations_hot: u64,
    /// Times that balancing moved it although it was cache-hot.
    pub nr_forced_migrations: u64,
    /// Wake-ups.
    pub nr_wakeups: u64,
    /// By a waker about to sleep.
    pub nr_wakeups_sync: u64,
    /// Onto another CPU than its last.
    pub nr_wakeups_migrate: u64,
    /// Onto the waker's CPU.
    pub nr_wakeups_local: u64,
    /// Onto another than the waker's.
    pub nr_wakeups_remote: u64,
    /// Pulled to the waker's CPU.
    pub nr_wakeups_affine: u64,
    /// Wake-ups in which that was considered.
    pub nr_wakeups_affine_attempts: u64,
}
