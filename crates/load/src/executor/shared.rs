//! State that all tasks of a run share.

use std::collections::BTreeMap;

use schedlab_workload::Plan;

use super::arena::Arena;
use super::channels::{Schedule, Table};
use super::files::{self, Output};
use super::gate::Gate;
use super::inherited::Inherited;
use super::spin::Rate;
use super::{regions, requirements};
use crate::error::LoadError;
use crate::sys::memory::Mapping;
use crate::sys::sched;

/// State that all tasks of a run share.
pub struct Shared {
    pub plan: Plan,
    pub arena: Arena,
    pub table: Table,
    pub schedule: Schedule,
    pub gate: Gate,
    pub regions: BTreeMap<u32, Mapping>,
    pub main_memory: Inherited,
    pub files: Vec<Output>,
    pub rate: Rate,
    pub closes_matter: bool,
    /// The attributes of each counted task under SCHED_DEADLINE.
    pub deadline: Option<sched::Attributes>,
    /// Number of threads that the run waits for.
    pub threads: u32,
}

impl Shared {
    /// Prepare the state; no task exists yet.
    pub fn new(plan: Plan, schedule: Schedule, rate: Rate, samples: u64) -> Result<Self, LoadError> {
        let memory = |purpose| move |source| LoadError::Memory { purpose, source };
        Ok(Self {
            arena: Arena::new(&plan, samples).map_err(memory("shared memory"))?,
            table: Table::new(&plan),
            gate: Gate::new(plan.program().gate.kind).map_err(LoadError::system("opening the start gate"))?,
            regions: regions::map_shared(&plan).map_err(memory("a memory region"))?,
            main_memory: Inherited::new(plan.program().main_memory)
                .map_err(memory("the main thread's memory"))?,
            files: files::open(&plan)?,
            rate,
            closes_matter: requirements::closes_matter(&plan),
            threads: requirements::threads(&plan),
            deadline: None,
            schedule,
            plan,
        })
    }

    /// Number of tasks that meet at a barrier.
    pub fn parties(&self, barrier: u32) -> u32 {
        let barriers = &self.plan.program().resources.barriers;
        barriers[self.plan.barriers().position(barrier)].parties
    }
}
