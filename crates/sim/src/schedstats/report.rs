//! Statistics in the layout of the kernel's files.
//!
//! `/proc/schedstat`: Documentation/scheduler/sched-stats.rst for the meanings, the versions' order of fields as in
//! `show_schedstat()`. `/proc/PID/sched`: labels, widths and order of `proc_sched_show_task()`; fields that the
//! simulated kernel lacks are omitted.

use std::fmt::Write;

use crate::balance::SchedDomains;
use crate::kernel::{Kernel, StatsLayout};
use crate::machine::{CpuMask, DomainKind, Machine};
use crate::observe::TaskReport;
use crate::schedstats::{CpuCounts, DomainCounts, PassCounts, Schedstats, TaskCounts};
use crate::time::{Ns, SECOND};

/// Time in which the statistics were on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throughout {
    /// The complete simulation.
    On,
    /// A part of the simulation.
    Partly {
        /// Whether statistics were on at the end.
        at_end: bool,
    },
}

/// A domain of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainReport {
    /// Kind of the domain.
    pub kind: DomainKind,
    /// CPUs of the domain.
    pub span: CpuMask,
    /// Counters.
    pub counts: DomainCounts,
}

/// A CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuReport {
    /// Counters.
    pub counts: CpuCounts,
    /// Domains, from narrow to wide.
    pub domains: Vec<DomainReport>,
}

/// Statistics of a machine whose statistics were on for at least a part of the simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Time in which the statistics were on.
    pub throughout: Throughout,
    /// The kernel's layout.
    pub layout: StatsLayout,
    /// Ticks since boot in `jiffies`, which begin 300 s before 2³² (include/linux/jiffies.h).
    pub jiffies: u64,
    /// The CPUs.
    pub cpus: Vec<CpuReport>,
}

impl Report {
    /// `/proc/schedstat`.
    pub fn file(&self) -> String {
        let mut text = format!("version {}\ntimestamp {}\n", self.layout.version, self.jiffies);
        for (number, cpu) in self.cpus.iter().enumerate() {
            let counts = &cpu.counts;
            let fields = [
                counts.yld_count,
                0,
                counts.sched_count,
                counts.sched_goidle,
                counts.ttwu_count,
                counts.ttwu_local,
            ];
            let times = [counts.rq_cpu_time_ns, counts.run_delay_ns, counts.pcount];
            line(&mut text, &format!("cpu{number}"), fields.into_iter().chain(times));
            for (level, domain) in cpu.domains.iter().enumerate() {
                let name = if self.layout.version < 17 { "" } else { name(domain.kind) };
                let space = if name.is_empty() { "" } else { " " };
                let label = format!("domain{level}{space}{name} {}", bitmap(&domain.span, self.cpus.len()));
                line(&mut text, &label, self.domain(&domain.counts).into_iter());
            }
        }
        text
    }

    fn domain(&self, counts: &DomainCounts) -> Vec<u64> {
        // Version 16 exchanged busy and idle.
        let order = if self.layout.version < 16 { [1, 0, 2] } else { [0, 1, 2] };
        let mut fields: Vec<u64> =
            order.into_iter().flat_map(|kind| self.load_balance(&counts.passes[kind])).collect();
        fields.extend([counts.alb_count, counts.alb_failed, counts.alb_pushed]);
        // Balancing at exec and fork: not counted since 2.6.2x.
        fields.extend([0; 6]);
        fields.extend([counts.ttwu_wake_remote, counts.ttwu_move_affine, 0]);
        fields
    }

    fn load_balance(&self, passes: &PassCounts) -> Vec<u64> {
        let mut fields = vec![passes.lb_count, passes.lb_balanced, passes.lb_failed];
        if self.layout.version < 17 {
            fields.push(passes.lb_imbalance_load + passes.lb_imbalance_util + passes.lb_imbalance_task);
        } else {
            fields.extend([passes.lb_imbalance_load, passes.lb_imbalance_util, passes.lb_imbalance_task, 0]);
        }
        fields.extend([passes.lb_gained, passes.lb_hot_gained, passes.lb_nobusyq, passes.lb_nobusyg]);
        fields
    }

    /// Numbers for the digest.
    pub(crate) fn words(&self) -> Vec<u64> {
        let of_cpu = |cpu: &CpuReport| {
            let counts = &cpu.counts;
            let mut words = vec![
                counts.sched_count,
                counts.ttwu_count,
                counts.rq_cpu_time_ns,
                counts.run_delay_ns,
                counts.pcount,
            ];
            cpu.domains.iter().for_each(|domain| words.extend(self.domain(&domain.counts)));
            words
        };
        self.cpus.iter().flat_map(of_cpu).collect()
    }
}

fn line(text: &mut String, label: &str, fields: impl Iterator<Item = u64>) {
    text.push_str(label);
    for field in fields {
        let _ = write!(text, " {field}");
    }
    text.push('\n');
}

/// A domain's name since version 17 (`default_topology` and `sched_init_numa()` of 6.14).
fn name(kind: DomainKind) -> &'static str {
    match kind {
        DomainKind::Smt => "SMT",
        DomainKind::Cluster => "CLS",
        DomainKind::Cache => "MC",
        DomainKind::Node => "PKG",
        DomainKind::Numa(_) => "NUMA",
    }
}

/// A set of CPUs as the kernel prints bitmaps: hexadecimal, 32 CPUs between commas, as wide as the machine (`%*pb`,
/// Documentation/core-api/printk-formats.rst).
fn bitmap(span: &CpuMask, cpus: usize) -> String {
    let words = (0..cpus.div_ceil(32)).rev().map(|word| {
        let first = word * 32;
        let bits = (first..cpus.min(first + 32)).filter(|cpu| span.contains(*cpu));
        let value = bits.fold(0u32, |value, cpu| value | 1 << (cpu - first));
        format!("{value:0width$x}", width = (cpus - first).min(32).div_ceil(4))
    });
    words.collect::<Vec<_>>().join(",")
}

impl TaskCounts {
    /// Names and values of the lines of `/proc/PID/sched`, in order; `true`: a time in nanoseconds. Fields that the simulated
    /// kernel never changes are 0 (blocking, I/O, cold migrations, moves of running tasks) or omitted (extremes of single runs).
    pub fn lines(&self) -> [(&'static str, u64, bool); 23] {
        [
            ("sum_sleep_runtime", self.sum_sleep_runtime_ns, true),
            ("sum_block_runtime", 0, true),
            ("sleep_max", self.sleep_max_ns, true),
            ("block_max", 0, true),
            ("wait_max", self.wait_max_ns, true),
            ("wait_sum", self.wait_sum_ns, true),
            ("wait_count", self.wait_count, false),
            ("iowait_sum", 0, true),
            ("iowait_count", 0, false),
            ("nr_migrations_cold", 0, false),
            ("nr_failed_migrations_affine", self.nr_failed_migrations_affine, false),
            ("nr_failed_migrations_running", 0, false),
            ("nr_failed_migrations_hot", self.nr_failed_migrations_hot, false),
            ("nr_forced_migrations", self.nr_forced_migrations, false),
            ("nr_wakeups", self.nr_wakeups, false),
            ("nr_wakeups_sync", self.nr_wakeups_sync, false),
            ("nr_wakeups_migrate", self.nr_wakeups_migrate, false),
            ("nr_wakeups_local", self.nr_wakeups_local, false),
            ("nr_wakeups_remote", self.nr_wakeups_remote, false),
            ("nr_wakeups_affine", self.nr_wakeups_affine, false),
            ("nr_wakeups_affine_attempts", self.nr_wakeups_affine_attempts, false),
            ("nr_wakeups_passive", 0, false),
            ("nr_wakeups_idle", 0, false),
        ]
    }
}

impl TaskReport {
    /// `/proc/PID/sched` of a task. As in a kernel, the file contains statistics only while `on`.
    pub fn file(&self, pid: usize, layout: &StatsLayout, on: bool) -> String {
        let mut text = format!("{} ({pid}, #threads: {})\n{:-<67}\n", self.name, self.threads, "");
        entry(&mut text, "se.sum_exec_runtime", self.ran_ns, true);
        entry(&mut text, "se.nr_migrations", self.migrations, false);
        let (voluntary, involuntary) = self.switches;
        let switches = voluntary + involuntary;
        if on {
            let prefix = layout.task_prefix();
            for (name, value, time) in self.statistics.unwrap_or_default().lines() {
                if layout.has_task_line(name) {
                    entry(&mut text, &format!("{prefix}{name}"), value, time);
                }
            }
            entry(&mut text, "avg_atom", self.ran_ns.checked_div(switches).unwrap_or(0), true);
            entry(&mut text, "avg_per_cpu", self.ran_ns.checked_div(self.migrations).unwrap_or(0), true);
        }
        entry(&mut text, "nr_switches", switches, false);
        entry(&mut text, "nr_voluntary_switches", voluntary, false);
        entry(&mut text, "nr_involuntary_switches", involuntary, false);
        text
    }
}

/// Append a line. Times are in milliseconds with six decimals.
fn entry(text: &mut String, label: &str, value: u64, time: bool) {
    let _ = if time {
        writeln!(text, "{label:<45}:{:>14}.{:06}", value / 1_000_000, value % 1_000_000)
    } else {
        writeln!(text, "{label:<45}:{value:>21}")
    };
}

impl Schedstats {
    /// The statistics of a machine at the end; `None` if the statistics have never been on.
    pub fn report(
        &self,
        domains: &SchedDomains,
        machine: &Machine,
        kernel: &Kernel,
        end: Ns,
    ) -> Option<Report> {
        if !self.used() {
            return None;
        }
        let hz = u64::from(machine.hz);
        let throughout =
            if self.throughout { Throughout::On } else { Throughout::Partly { at_end: self.on } };
        let domain = |cpu: usize, level: usize| {
            let shape = domains.domain(cpu, level);
            let counts = self.domains[cpu][level].counts;
            DomainReport { kind: shape.kind, span: *shape.span.mask(), counts }
        };
        let cpu = |cpu: usize| CpuReport {
            counts: self.queues[cpu].counts,
            domains: (0..self.domains[cpu].len()).map(|level| domain(cpu, level)).collect(),
        };
        Some(Report {
            throughout,
            layout: kernel.schedstats?,
            jiffies: (1 << 32) - 300 * hz + (u128::from(end) * u128::from(hz) / u128::from(SECOND)) as u64,
            cpus: (0..self.queues.len()).map(cpu).collect(),
        })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/schedstats/report.rs"]
mod tests;
