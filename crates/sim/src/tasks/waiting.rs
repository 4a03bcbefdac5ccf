//! Who waits for whom, in words.

use schedlab_workload::Step;
use schedlab_workload::check::ends::End;
use schedlab_workload::program::Resource;

use crate::balance::KernelPolicy;
use crate::engine::{Engine, NOBODY};
use crate::error::{SimError, Waiting};
use crate::observe::Observer;
use crate::sched::TaskIx;
use crate::tasks::{Action, Phase, State, Task};

/// Most tasks that are named as those waited for.
const NAMED: usize = 4;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// All tasks that wait for others.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let blocked = |task: &TaskIx| self.tasks[*task].state == State::Blocked;
        (0..self.tasks.len() as TaskIx).filter(blocked).filter_map(|task| self.wait_of(task)).collect()
    }

    /// Fails the program if a task that begins to wait for a lock waits for itself in the end: each holds what the one
    /// before wants. Nobody could break such a circle, however many other tasks go on.
    pub(crate) fn check_circle(&mut self, task: TaskIx, lock: u32) {
        let holder = |lock: u32| self.program.locks[lock as usize].owner;
        let next = |it: &TaskIx| if *it == task { None } else { self.lock_awaited(*it).map(holder) };
        let chain = || std::iter::successors(Some(holder(lock)), next).take(self.tasks.len());
        if chain().last() != Some(task) {
            return;
        }
        let waiting = chain().filter_map(|it| self.wait_of(it)).collect();
        self.failure.get_or_insert(SimError::Deadlock { at_ns: self.time.now, waiting });
        self.finished = true;
    }

    /// The lock that a task waits for.
    fn lock_awaited(&self, task: TaskIx) -> Option<u32> {
        let it = &self.tasks[task];
        match it.action {
            // While it waits for a condition's signal, its action is still to be begun again.
            Action::Step(Step::Lock(lock) | Step::Await { lock, .. }) => {
                (it.state == State::Blocked && it.phase == Phase::Next).then_some(lock)
            }
            _ => None,
        }
    }

    fn wait_of(&self, task: TaskIx) -> Option<Waiting> {
        let plan = self.world.plan;
        let resources = &plan.program().resources;
        let Action::Step(step) = self.tasks[task].action else { return None };
        let (what, whom) = match step {
            Step::Lock(lock) => return Some(self.wait_for_lock(task, lock)),
            Step::Down(semaphore) => {
                let at = plan.semaphores().position(semaphore);
                (instance(&resources.semaphores[at], semaphore), Vec::new())
            }
            Step::Await { lock, .. } if self.lock_awaited(task).is_some() => {
                return Some(self.wait_for_lock(task, lock));
            }
            Step::Await { condition, .. } => {
                let at = plan.conditions().position(condition);
                (instance(&resources.conditions[at], condition), Vec::new())
            }
            Step::Barrier(barrier) => {
                let it = &self.program.meetings[barrier as usize];
                let at = plan.barriers().position(barrier);
                let here = format!("{} of {} are here", it.arrived, it.parties);
                (instance(&resources.barriers[at], barrier), vec![here])
            }
            Step::Receive { channel, direction, .. } => {
                let it = &resources.channels[plan.channels().position(channel)];
                let senders = self.users(channel, End::sending(direction));
                (format!("a message on {}", instance(it, channel)), senders)
            }
            Step::Send { channel, direction, .. } => {
                let it = &resources.channels[plan.channels().position(channel)];
                let receivers = self.users(channel, End::receiving(direction));
                (format!("room on {}", instance(it, channel)), receivers)
            }
            Step::Wait { .. } => {
                let is_child = |other: &TaskIx| {
                    let it = &self.tasks[*other];
                    it.parent == task && it.is_child && it.state != State::Dead
                };
                let children = (0..self.tasks.len() as TaskIx).filter(is_child);
                ("its children".to_owned(), children.take(NAMED).map(|child| self.name(child)).collect())
            }
            _ => ("something".to_owned(), Vec::new()),
        };
        Some(Waiting { task: self.name(task), what, whom })
    }

    fn wait_for_lock(&self, task: TaskIx, lock: u32) -> Waiting {
        let plan = self.world.plan;
        let owner = self.program.locks[lock as usize].owner;
        let held = (owner != NOBODY).then(|| format!("held by {}", self.name(owner)));
        let what = instance(&plan.program().resources.locks[plan.locks().position(lock)], lock);
        Waiting { task: self.name(task), what, whom: held.into_iter().collect() }
    }

    /// Living tasks that use an end of a channel.
    fn users(&self, channel: u32, end: End) -> Vec<String> {
        let plan = self.world.plan;
        let lives = |it: &&Task| it.state != State::Dead && !it.is_child && it.ordinal != NOBODY;
        let uses = |ordinal: u32| {
            let ends = plan.channel_ends(plan.task(ordinal));
            ends.iter().any(|used| used.channel == channel && used.end == end)
        };
        let ordinals = self.tasks.table.iter().filter(lives).map(|it| it.ordinal).filter(|it| uses(*it));
        ordinals.take(NAMED).map(|it| plan.describe(plan.task(it))).collect()
    }
}

fn instance<R: Resource>(resource: &R, number: u32) -> String {
    format!("{} `{}` (instance {number})", R::KIND, resource.name())
}
