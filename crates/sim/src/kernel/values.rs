//! Current values of tunables, their checks and changes.

use super::tunables::{Definition, Tunable};
use super::{Kernel, kernel, kernel_names};
use crate::error::SimError;
use crate::time::{MS, Ns};

/// Current values of all tunables of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Tunables {
    kernel: String,
    definitions: Vec<Option<Definition>>,
    values: Vec<i64>,
    /// Whether [`Tunables::set`] has set each tunable.
    set: Vec<bool>,
}

/// Factor under the default `sched_tunable_scaling`, 1 + log₂(min(CPUs, 8)) (Documentation/scheduler/sched-design-CFS.rst).
fn scale(cpus: usize) -> i64 {
    1 + i64::from(cpus.clamp(1, 8).ilog2())
}

impl Tunables {
    /// The values at boot on a machine with `cpus` CPUs. A tunable that the kernel lacks has the value 0.
    pub fn new(kernel: &Kernel, cpus: usize) -> Self {
        let definitions: Vec<_> =
            Tunable::ALL.iter().map(|tunable| kernel.tunables.get(tunable.name()).copied()).collect();
        let boot = |definition: &Option<Definition>| {
            definition.map_or(0, |defined| defined.default * if defined.scaled { scale(cpus) } else { 1 })
        };
        let values = definitions.iter().map(boot).collect();
        let set = vec![false; Tunable::ALL.len()];
        let mut tunables = Self { kernel: kernel.name.clone(), definitions, values, set };
        if tunables.on(Tunable::D7Tunables) {
            tunables.apply_d7_tunables(true);
        }
        tunables
    }

    /// Set the tunables of [`D7_TUNABLES`] that the kernel has, or reset them to the kernel's defaults. A tunable that
    /// has been set by its own name keeps its value.
    fn apply_d7_tunables(&mut self, on: bool) {
        for (tunable, value) in D7_TUNABLES {
            if self.set[tunable as usize] {
                continue;
            }
            if let Some(definition) = self.definitions[tunable as usize] {
                self.values[tunable as usize] = if on { value } else { definition.default };
            }
        }
    }

    /// The value of a tunable.
    #[inline]
    pub fn get(&self, tunable: Tunable) -> i64 {
        self.values[tunable as usize]
    }

    /// The value of a tunable in its own unit. A negative value counts as 0.
    #[inline]
    pub fn non_negative(&self, tunable: Tunable) -> u64 {
        self.get(tunable).max(0) as u64
    }

    /// The value of a tunable in milliseconds, in nanoseconds. A negative value counts as 0.
    #[inline]
    pub fn ms_as_ns(&self, tunable: Tunable) -> Ns {
        self.non_negative(tunable) * MS
    }

    /// `sysctl_sched_migration_cost`, an unsigned int (kernel/sched/fair.c, v4.5 to v6.12). −1 becomes the maximum: every task
    /// is cache-hot for `task_hot()`, and no idle time reaches it.
    #[inline]
    pub fn migration_cost(&self) -> u32 {
        self.get(Tunable::MigrationCostNs) as u32
    }

    /// `sysctl_sched_migration_cost` when `sched_init()` runs: the kernel's default, since no parameter of the command line
    /// sets it.
    pub fn migration_cost_at_boot(&self) -> u32 {
        let definition = self.definitions[Tunable::MigrationCostNs as usize];
        definition.map_or(0, |definition| definition.default as u32)
    }

    /// Whether a flag is set.
    #[inline]
    pub fn on(&self, tunable: Tunable) -> bool {
        self.get(tunable) != 0
    }

    /// Whether the kernel has a tunable.
    pub fn has(&self, tunable: Tunable) -> bool {
        self.definitions[tunable as usize].is_some()
    }

    /// Check that the kernel has a tunable and accepts a value for it.
    pub fn check(&self, name: &str, value: i64) -> Result<Tunable, SimError> {
        let defined = Tunable::named(name)
            .and_then(|tunable| self.definitions[tunable as usize].map(|definition| (tunable, definition)));
        let Some((tunable, definition)) = defined else {
            return Err(SimError::NoTunable {
                kernel: self.kernel.clone(),
                tunable: name.to_owned(),
                has: models_with(name),
            });
        };
        if !(definition.min..=definition.max).contains(&value) {
            return Err(SimError::TunableRange {
                kernel: self.kernel.clone(),
                tunable: tunable.name().to_owned(),
                value,
                min: definition.min,
                max: definition.max,
            });
        }
        Ok(tunable)
    }

    /// Change a tunable. The error lists the kernels that have the tunable, or its range.
    ///
    /// `sched.d7.03` is a patch to the values of four other tunables: turning the patch on sets these tunables, turning
    /// the patch off resets these tunables to the kernel's defaults. A tunable that is set by its own name, before or
    /// after `sched.d7.03`, keeps that value: the order of settings does not change the result.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), SimError> {
        let tunable = self.check(name, value)?;
        self.values[tunable as usize] = value;
        self.set[tunable as usize] = true;
        if tunable == Tunable::D7Tunables {
            self.apply_d7_tunables(value != 0);
        }
        Ok(())
    }
}

/// The values that the D7 patch 03-tunables sets (attachment to M. Bligh, "breaking down the performance of D7 scheduler
/// patch", 2003). The patch also changes the meaning of a `STARVATION_LIMIT` of 0. The default slice of 100 ms in its comment
/// follows from the maximum slice. The patch removes the definition of `NODE_THRESHOLD`, but no attachment changes its use.
const D7_TUNABLES: [(Tunable, i64); 4] = [
    (Tunable::MaxTimesliceMs, 200),
    (Tunable::ChildPenalty, 50),
    (Tunable::MaxSleepAvgMs, 10_000),
    (Tunable::StarvationLimitMs, 30_000),
];

/// Least similarity, from 0 to 1, of a name that an error message suggests.
const SIMILAR: f64 = 0.6;

/// The names of at most three tunables that are most similar to a wrong name.
fn nearest(wrong: &str) -> Vec<&'static str> {
    let similarity = |name| strsim::normalized_damerau_levenshtein(wrong, name);
    let mut names: Vec<_> =
        Tunable::ALL.iter().map(|tunable| (similarity(tunable.name()), tunable.name())).collect();
    names.retain(|(similarity, _)| *similarity >= SIMILAR);
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    names.into_iter().map(|(_, name)| name).take(3).collect()
}

/// List the shipped kernel models that have a tunable, or tunables with similar names, as the end of an error message.
fn models_with(name: &str) -> String {
    let Some(tunable) = Tunable::named(name) else {
        let names = nearest(name);
        let nearest =
            if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) };
        return format!(", nor has any other kernel model{nearest}");
    };
    let has = |name: &&str| kernel(name).is_ok_and(|model| model.tunables.contains_key(tunable.name()));
    let models: Vec<_> = kernel_names().filter(has).collect();
    if models.is_empty() {
        String::new()
    } else {
        format!("; kernels with this tunable: {}", models.join(", "))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/kernel/values.rs"]
mod tests;
