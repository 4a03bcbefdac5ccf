//! Two programs in one: a program, and a load that runs beside the program until the program ends.

use std::collections::HashSet;

use super::{Attributes, Op, Policy, Program, Quantity, Resource, Resources, Scope, each_kind, times};
use crate::check;

/// Begins the names of a load's groups, resources, counters and series.
pub const LOAD: &str = "beside-";

impl Program {
    /// This program with `load` beside it, whose tasks are in the background: they repeat their bodies until the tasks of this
    /// program have ended, and no metric counts them. They are ordinary tasks (`SCHED_OTHER`, nice 0), whatever the attributes of
    /// the measured tasks are. The metric of a lifetime is left out, because the load's tasks are created meanwhile.
    ///
    /// The error says what the two programs cannot have together.
    pub fn beside(self, load: Self) -> Result<Self, String> {
        self.beside_as(load, LOAD)
    }

    /// As [`Program::beside`], for one of several loads: `prefix` begins the names of this load.
    pub fn beside_as(self, load: Self, prefix: &str) -> Result<Self, String> {
        let disturbs = |program: &Self| program.groups.iter().any(|group| group.disturbs_after_ns.is_some());
        if disturbs(&self) || disturbs(&load) {
            return Err("a disturbance and a load cannot be combined".to_owned());
        }
        if load.seed != 0 || load.gate.fifo || !load.main_memory.is_none() {
            return Err(
                "a load has the seed and the main thread, with its memory, of the workload that it runs beside"
                    .to_owned(),
            );
        }
        let (mut program, mut load) = (self.in_one_replica(""), load.in_one_replica(prefix));
        for group in &mut load.groups {
            group.body.iter_mut().for_each(Op::ignore_window);
            let ordinary =
                Attributes { policy: Some(Policy::Other), priority: Some(0), ..Attributes::default() };
            let body = std::mem::take(&mut group.body);
            group.body = vec![Op::Set { attributes: ordinary }, times(u64::MAX, body)];
            (group.program, group.background) = (false, true);
        }
        program.resources.add(&load.resources, &|_| true, &|_, name| name.to_owned());
        program.counters.extend(load.counters);
        program.series.extend(load.series);
        program.groups.extend(load.groups);
        program.metrics.retain(|metric| metric.quantity != Quantity::Lifetime);
        check::program(&program).map_err(|error| error.to_string())?;
        Ok(program)
    }

    /// The same tasks in one replica, in the same order: each replica's groups become groups of their own, and so do the resources
    /// of scope `replica`. `prefix` begins all names. Bodies must not use the number of the replica; those of the library do not.
    fn in_one_replica(mut self, prefix: &str) -> Self {
        if self.replicas == 1 && prefix.is_empty() {
            return self;
        }
        let resources = std::mem::take(&mut self.resources);
        let groups = std::mem::take(&mut self.groups);
        let mut of_replica = HashSet::new();
        each_kind!(resources, list => of_replica.extend(list.iter().filter(|each| each.scope == Scope::Replica).map(kind_and_name)));
        for replica in 0..self.replicas {
            let named = |kind: &str, name: &str| {
                let is_of_replica = self.replicas > 1
                    && (kind == "group" || of_replica.contains(&(kind.to_owned(), name.to_owned())));
                if is_of_replica { format!("{prefix}{name}.{replica}") } else { format!("{prefix}{name}") }
            };
            self.resources.add(&resources, &|scope| replica == 0 || scope == Scope::Replica, &named);
            self.groups.extend(groups.iter().cloned().map(|mut group| {
                group.name = named("group", &group.name);
                group.body.iter_mut().for_each(|op| op.rename(&named));
                group
            }));
        }
        for name in self.counters.iter_mut().chain(&mut self.series) {
            name.insert_str(0, prefix);
        }
        self.replicas = 1;
        self
    }
}

fn kind_and_name<R: Resource>(resource: &R) -> (String, String) {
    (R::KIND.to_owned(), resource.name().to_owned())
}

impl Resources {
    /// Add the resources of the chosen scopes under the names that `named` returns for their kinds and names.
    fn add(&mut self, others: &Self, chosen: &dyn Fn(Scope) -> bool, named: &dyn Fn(&str, &str) -> String) {
        fn add<R: Resource + Clone>(
            to: &mut Vec<R>,
            others: &[R],
            chosen: &dyn Fn(Scope) -> bool,
            named: &dyn Fn(&str, &str) -> String,
        ) {
            to.extend(others.iter().filter(|each| chosen(each.scope())).cloned().map(|mut each| {
                each.rename(named(R::KIND, each.name()));
                each
            }));
        }
        add(&mut self.channels, &others.channels, chosen, named);
        add(&mut self.locks, &others.locks, chosen, named);
        add(&mut self.semaphores, &others.semaphores, chosen, named);
        add(&mut self.barriers, &others.barriers, chosen, named);
        add(&mut self.conditions, &others.conditions, chosen, named);
        add(&mut self.files, &others.files, chosen, named);
        add(&mut self.regions, &others.regions, chosen, named);
        add(&mut self.slots, &others.slots, chosen, named);
        // Each task has its own timers.
        if chosen(Scope::Task) {
            self.timers.extend(others.timers.iter().map(|name| named("timer", name)));
        }
    }
}
