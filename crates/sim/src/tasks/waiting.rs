//! Who waits for whom, in words.

use schedlab_workload::Step;
use schedlab_workload::check::ends::End;
use schedlab_workload::program::Resource;

use crate::engine::{Engine, NOBODY};
use crate::error::Waiting;
use crate::observe::Observer;
use crate::sched::{Policy, TaskIx};
use crate::tasks::{Action, State};

/// Most tasks that are named as those waited for.
const NAMED: usize = 4;

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// All tasks that wait for others.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let blocked = |task: &TaskIx| self.tasks[*task as usize].state == State::Blocked;
        (0..self.tasks.len() as TaskIx).filter(blocked).filter_map(|task| self.wait_of(task)).collect()
    }

    fn wait_of(&self, task: TaskIx) -> Option<Waiting> {
        let plan = self.world.plan;
        let resources = &plan.program().resources;
        let Action::Step(step) = self.tasks[task as usize].action else { return None };
        let (what, whom) = match step {
            Step::Lock(lock) => {
                let owner = self.locks[lock as usize].owner;
                let held = (owner != NOBODY).then(|| format!("held by {}", self.name(owner)));
                let at = plan.locks().position(lock);
                (instance(&resources.locks[at], lock), held.into_iter().collect())
            }
            Step::Down(semaphore) => {
                let at = plan.semaphores().position(semaphore);
                (instance(&resources.semaphores[at], semaphore), Vec::new())
            }
            Step::Await { condition, .. } => {
                let at = plan.conditions().position(condition);
                (instance(&resources.conditions[at], condition), Vec::new())
            }
            Step::Barrier(barrier) => {
                let it = &self.meetings[barrier as usize];
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
                    let it = &self.tasks[*other as usize];
                    it.parent == task && it.is_child && it.state != State::Dead
                };
                let children = (0..self.tasks.len() as TaskIx).filter(is_child);
                ("its children".to_owned(), children.take(NAMED).map(|child| self.name(child)).collect())
            }
            _ => ("something".to_owned(), Vec::new()),
        };
        Some(Waiting { task: self.name(task), what, whom })
    }

    /// Living tasks that use an end of a channel.
    fn users(&self, channel: u32, end: End) -> Vec<String> {
        let plan = self.world.plan;
        let lives =
            |it: &&crate::tasks::Task| it.state != State::Dead && !it.is_child && it.ordinal != NOBODY;
        let uses = |ordinal: u32| {
            let ends = plan.channel_ends(plan.task(ordinal));
            ends.iter().any(|used| used.channel == channel && used.end == end)
        };
        let ordinals = self.tasks.iter().filter(lives).map(|it| it.ordinal).filter(|it| uses(*it));
        ordinals.take(NAMED).map(|it| plan.describe(plan.task(it))).collect()
    }
}

fn instance<R: Resource>(resource: &R, number: u32) -> String {
    format!("{} `{}` (instance {number})", R::KIND, resource.name())
}
