//! Watching a simulation as it goes.

use crate::ledger::Account;
use crate::sched::TaskIx;
use crate::time::Ns;

/// A task that has just been made.
#[derive(Clone, Copy)]
pub struct Birth<'a> {
    /// The task; the number is used again after its end.
    pub task: TaskIx,
    /// Who made it; `None` for the main task, which is there from the start.
    pub parent: Option<TaskIx>,
    /// It is a thread of its parent's process.
    pub thread: bool,
    /// Its name, made when it is asked for: nobody pays for one that nobody reads.
    pub name: &'a dyn Fn() -> String,
}

/// Is told what happens. All methods do nothing by default; a simulation without an observer is compiled without the
/// calls. Moments of one CPU ascend, those of different CPUs may be told a few microseconds out of order, because a
/// CPU's kernel work is known as soon as it begins.
#[allow(unused_variables, reason = "the defaults ignore everything")]
pub trait Observer {
    /// A task exists from now on, made on a CPU.
    fn created(&mut self, at: Ns, cpu: usize, birth: Birth<'_>) {}
    /// A task ends.
    fn ended(&mut self, at: Ns, task: TaskIx) {}
    /// A CPU changes from one task to another; `None` is idle, or a task that could not go on.
    fn switched(&mut self, at: Ns, cpu: usize, from: Option<TaskIx>, to: Option<TaskIx>) {}
    /// A CPU makes a task runnable on `target`; in an interrupt, or for its current task.
    fn woken(&mut self, at: Ns, cpu: usize, task: TaskIx, target: usize, interrupt: bool) {}
    /// A task changes its CPU.
    fn migrated(&mut self, at: Ns, task: TaskIx, from: usize, to: usize) {}
    /// A CPU spends time.
    fn spent(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {}
    /// A tunable gets another value.
    fn retuned(&mut self, at: Ns, tunable: &str, value: i64) {}
}

impl Observer for () {}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn created(&mut self, at: Ns, cpu: usize, birth: Birth<'_>) {
        (**self).created(at, cpu, birth);
    }

    fn ended(&mut self, at: Ns, task: TaskIx) {
        (**self).ended(at, task);
    }

    fn switched(&mut self, at: Ns, cpu: usize, from: Option<TaskIx>, to: Option<TaskIx>) {
        (**self).switched(at, cpu, from, to);
    }

    fn woken(&mut self, at: Ns, cpu: usize, task: TaskIx, target: usize, interrupt: bool) {
        (**self).woken(at, cpu, task, target, interrupt);
    }

    fn migrated(&mut self, at: Ns, task: TaskIx, from: usize, to: usize) {
        (**self).migrated(at, task, from, to);
    }

    fn spent(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {
        (**self).spent(from, cpu, account, ns);
    }

    fn retuned(&mut self, at: Ns, tunable: &str, value: i64) {
        (**self).retuned(at, tunable, value);
    }
}
