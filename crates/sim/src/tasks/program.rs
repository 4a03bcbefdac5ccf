//! Channels, locks and other objects that the tasks of a program share, and the data that they record.

use schedlab_workload::Plan;
use schedlab_workload::check::ends::End;

use super::{Flow, Lock, Meeting, Semaphore, WaitQueue, mutex};
use crate::machine::Costs;
use crate::observe::{LockUses, Series};
use crate::time::Ns;

/// Shared objects and records of the program, indexed by instance number.
pub(crate) struct ProgramState {
    pub flows: Vec<Flow>,
    /// Longest time for which a task has the mutex of a pipe for a page or less.
    pub longest_mutex: Ns,
    pub locks: Vec<Lock>,
    pub lock_uses: LockUses,
    pub semaphores: Vec<Semaphore>,
    pub meetings: Vec<Meeting>,
    /// Tasks that wait for each condition.
    pub conditions: Vec<WaitQueue>,
    pub slots: Vec<Ns>,
    pub counters: Vec<u64>,
    pub series: Vec<Series>,
}

impl ProgramState {
    /// Objects in their initial state. Each series keeps a random selection of at most `samples` samples.
    pub fn new(plan: &Plan, samples: usize, seed: u64, costs: &Costs) -> Self {
        let resources = &plan.program().resources;
        let semaphore = |instance| {
            let definition = &resources.semaphores[plan.semaphores().position(instance)];
            Semaphore { value: definition.initial.into(), ..Semaphore::default() }
        };
        let meeting = |instance| {
            let parties = resources.barriers[plan.barriers().position(instance)].parties;
            Meeting { parties, ..Meeting::default() }
        };
        let series = |at: usize| Series::new(samples, seed ^ (at as u64 + 1));
        Self {
            flows: flows(plan),
            longest_mutex: mutex::longest(costs),
            locks: vec![Lock::default(); plan.locks().total() as usize],
            lock_uses: LockUses::new(plan.locks().total() as usize),
            semaphores: (0..plan.semaphores().total()).map(semaphore).collect(),
            meetings: (0..plan.barriers().total()).map(meeting).collect(),
            conditions: vec![WaitQueue::default(); plan.conditions().total() as usize],
            slots: vec![0; plan.slots().total() as usize],
            counters: vec![0; plan.program().counters.len()],
            series: (0..plan.program().series.len()).map(series).collect(),
        }
    }
}

/// Both directions of each channel, with the number of tasks at each end.
fn flows(plan: &Plan) -> Vec<Flow> {
    let channels = &plan.program().resources.channels;
    let flow = |instance: u32| {
        let channel = &channels[plan.channels().position(instance)];
        [(); 2].map(|()| Flow::new(channel.kind, channel.no_delay, channel.buffer))
    };
    let mut flows: Vec<Flow> = (0..plan.channels().total()).flat_map(flow).collect();
    for used in plan.tasks().flat_map(|task| plan.channel_ends(task)) {
        let [forward, backward] = Flow::both(&mut flows, used.channel);
        let (sends, receives) = if used.end == End::Near { (forward, backward) } else { (backward, forward) };
        sends.senders += 1;
        receives.receivers += 1;
    }
    flows
}
