//! Watching a simulation as it goes.

use crate::ledger::Account;
use crate::sched::TaskIx;
use crate::time::Ns;

/// Is told what happens. All methods do nothing by default; a simulation without an observer is compiled without the
/// calls. Moments of one CPU ascend, those of different CPUs may be told a few microseconds out of order, because a
/// CPU's kernel work is known as soon as it begins.
#[allow(unused_variables, reason = "the defaults ignore everything")]
pub trait Observer {
    /// A task exists from now on.
    fn created(&mut self, at: Ns, task: TaskIx, name: &str) {}
    /// A task ends.
    fn ended(&mut self, at: Ns, task: TaskIx) {}
    /// A CPU changes from one task to another; `None` is idle.
    fn switched(&mut self, at: Ns, cpu: usize, from: Option<TaskIx>, to: Option<TaskIx>) {}
    /// A CPU makes a task runnable on `target`.
    fn woken(&mut self, at: Ns, cpu: usize, task: TaskIx, target: usize) {}
    /// A task changes its CPU.
    fn migrated(&mut self, at: Ns, task: TaskIx, from: usize, to: usize) {}
    /// A CPU spends time.
    fn spent(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {}
}

impl Observer for () {}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn created(&mut self, at: Ns, task: TaskIx, name: &str) {
        (**self).created(at, task, name);
    }

    fn ended(&mut self, at: Ns, task: TaskIx) {
        (**self).ended(at, task);
    }

    fn switched(&mut self, at: Ns, cpu: usize, from: Option<TaskIx>, to: Option<TaskIx>) {
        (**self).switched(at, cpu, from, to);
    }

    fn woken(&mut self, at: Ns, cpu: usize, task: TaskIx, target: usize) {
        (**self).woken(at, cpu, task, target);
    }

    fn migrated(&mut self, at: Ns, task: TaskIx, from: usize, to: usize) {
        (**self).migrated(at, task, from, to);
    }

    fn spent(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {
        (**self).spent(from, cpu, account, ns);
    }
}
