//! Interface for observers of a running simulation.

use crate::ledger::Account;
use crate::sched::TaskIx;
use crate::time::Ns;

/// Description of a new task.
#[derive(Clone, Copy)]
pub struct Birth<'a> {
    /// Index of the task. The index is reused after the task's end.
    pub task: TaskIx,
    /// Task that created this task; `None` for the main task and kernel threads.
    pub parent: Option<TaskIx>,
    /// Whether the task is a thread of its parent's process.
    pub thread: bool,
    /// Function of the work queue that a kernel thread executes.
    pub work: Option<&'static str>,
    /// Returns the task's name. The string is built only on request.
    pub name: &'a dyn Fn() -> String,
}

/// Observer of a simulation's events.
///
/// All methods do nothing by default; a simulation without an observer is compiled without the calls. The times of one
/// CPU's events ascend. Events of different CPUs may be a few microseconds out of order, because a CPU's kernel work is
/// reported when it begins.
#[allow(unused_variables, reason = "the defaults ignore all events")]
pub trait Observer {
    /// A task is created on a CPU.
    fn created(&mut self, at: Ns, cpu: usize, birth: Birth<'_>) {}
    /// A task ends.
    fn ended(&mut self, at: Ns, task: TaskIx) {}
    /// A CPU switches between tasks. `from` is `None` after idleness and after a task that waits or has ended; `to` is
    /// `None` if the CPU becomes idle.
    fn switched(&mut self, at: Ns, cpu: usize, from: Option<TaskIx>, to: Option<TaskIx>) {}
    /// A CPU makes a task runnable on `target`, in an interrupt or on behalf of its current task.
    fn woken(&mut self, at: Ns, cpu: usize, task: TaskIx, target: usize, interrupt: bool) {}
    /// A task changes its CPU.
    fn migrated(&mut self, at: Ns, task: TaskIx, from: usize, to: usize) {}
    /// A CPU spends `ns` nanoseconds on an account.
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
