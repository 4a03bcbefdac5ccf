//! Statistics of balancing.

use crate::balance::{Balanced, Imbalance, KernelPolicy};
use crate::engine::Engine;
use crate::observe::{Balancing, Observer};
use crate::sched::TaskIx;
use crate::schedstats::{Line, lines};
use crate::time::NEVER;

/// Reason why a task was not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The task's CPU set excludes the CPU.
    Affine,
    /// The task is cache-hot.
    Hot,
}

/// Domain of a pass, and the CPU that pays for the updates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassId {
    pub payer: usize,
    pub cpu: usize,
    pub level: usize,
    /// Kind of pass: busy 0, idle 1, newly idle 2.
    pub kind: usize,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Count a finished pass, which tried to move `imbalance` or found the domain balanced.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_pass(
        &mut self,
        pass_id: PassId,
        counts: &Balancing,
        imbalance: Result<Imbalance, Balanced>,
    ) {
        self.stats_update(pass_id.payer, Line::Domain(pass_id.cpu, pass_id.level));
        let domain = &mut self.stats.domains[pass_id.cpu][pass_id.level].counts;
        let passes = &mut domain.passes[pass_id.kind];
        passes.lb_count += 1;
        passes.lb_balanced += counts.balanced;
        passes.lb_failed += counts.failed;
        match imbalance {
            Ok(Imbalance::Load(load)) => passes.lb_imbalance_load += load,
            Ok(Imbalance::Util(util)) => passes.lb_imbalance_util += util,
            Ok(Imbalance::Tasks(tasks)) => passes.lb_imbalance_task += tasks,
            Err(Balanced::Groups) => passes.lb_nobusyg += 1,
            Err(Balanced::Queues) => passes.lb_nobusyq += 1,
        }
    }

    /// Count a pass that another CPU of the group is responsible for. The kernel counts such a pass as balanced.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_declined(&mut self, pass_id: PassId) {
        self.stats_update(pass_id.payer, Line::Domain(pass_id.cpu, pass_id.level));
        let passes = &mut self.stats.domains[pass_id.cpu][pass_id.level].counts.passes[pass_id.kind];
        passes.lb_count += 1;
        passes.lb_balanced += 1;
    }

    /// Count a waiting task that a pass moves from `source` to its CPU.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_pull(&mut self, pass_id: PassId, source: usize, task: TaskIx, hot: bool) {
        let at = self.cpus[pass_id.payer].clock;
        self.stats_update(pass_id.payer, Line::Task(task, lines::MIGRATIONS));
        let task_stats = self.stats.task(task);
        task_stats.counts.nr_forced_migrations += u64::from(hot);
        let since = std::mem::replace(&mut task_stats.queued_since, NEVER);
        self.stats.left_queue(pass_id.payer, source, since, at);
        let pass = &mut self.stats.domains[pass_id.cpu][pass_id.level].counts.passes[pass_id.kind];
        pass.lb_gained += 1;
        pass.lb_hot_gained += u64::from(hot);
        self.stats_enqueue(pass_id.payer, task);
    }

    /// Count the tasks that a pass has examined and not moved.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_refused(&mut self, payer: usize) {
        let mut refused = std::mem::take(&mut self.stats.refused);
        for (task, why) in refused.drain(..) {
            self.stats_update(payer, Line::Task(task, lines::MIGRATIONS));
            let counts = &mut self.stats.task(task).counts;
            match why {
                Refusal::Affine => counts.nr_failed_migrations_affine += 1,
                Refusal::Hot => counts.nr_failed_migrations_hot += 1,
            }
        }
        self.stats.refused = refused;
    }

    /// Count active balancing after a pass that moved no task. `pushed`: the running task was moved. The kernel counts the
    /// pass as failed in either case.
    #[cold]
    #[inline(never)]
    pub(crate) fn stats_active(&mut self, pass_id: PassId, pushed: bool) {
        self.stats_update(pass_id.payer, Line::Domain(pass_id.cpu, pass_id.level));
        let counts = &mut self.stats.domains[pass_id.cpu][pass_id.level].counts;
        counts.alb_count += 1;
        counts.alb_pushed += u64::from(pushed);
        counts.alb_failed += u64::from(!pushed);
        counts.passes[pass_id.kind].lb_failed += u64::from(pushed);
    }
}
