//! Workloads: each a struct of parameters from which a [`Program`] is made.
//!
//! A workload is one file. Its struct declares names, ranges, defaults and documentation of the parameters; its
//! implementation of [`Workload`] makes the program and names the judged metrics. [`workloads`] is the registry, from which
//! the command line, the Python adapters and the reference documentation are derived.

pub mod busyloop;
pub mod cyclic;
mod definition;
pub mod forkstorm;
pub mod futex;
pub mod hackbench;
pub mod kernbench;
pub mod kernel_path;
pub mod parameter;
pub mod pgbench;
pub mod pipetest;
pub mod rr;
pub mod schedbench;
pub mod scripts;
pub mod stream;
pub mod tbench;
pub mod wakeup;
pub mod yielding;

use crate::error::ParameterError;
use definition::define;
pub use definition::{Definition, MetricDefinition, Prepared, Workload};
use parameter::BESIDE;
pub use parameter::{Parameter, Values};

/// Names that the file of a workload uses.
mod prelude {
    pub(super) use schemars::JsonSchema;
    pub(super) use serde::{Deserialize, Serialize};

    pub(super) use super::definition::{Workload, latency, latency_percentile, names};
    pub(super) use super::parameter::{
        Duration, Interval, MAX_TASKS, Time, Warmup, check_fields, parameters,
    };
    pub(super) use crate::error::ParameterError;
    pub(super) use crate::measure::Measured;
    pub(super) use crate::program::*;
}

/// All workloads, in the order of the documentation.
pub fn workloads() -> Vec<Definition> {
    vec![
        define::<hackbench::Hackbench>(),
        define::<pipetest::Pipetest>(),
        define::<stream::Stream>(),
        define::<rr::Rr>(),
        define::<tbench::Tbench>(),
        define::<pgbench::Pgbench>(),
        define::<kernbench::Kernbench>(),
        define::<scripts::Scripts>(),
        define::<schedbench::Schedbench>(),
        define::<wakeup::Wakeup>(),
        define::<cyclic::Cyclic>(),
        define::<yielding::Yielding>(),
        define::<futex::Futex>(),
        define::<forkstorm::Forkstorm>(),
        define::<busyloop::BusyLoop>(),
        define::<kernel_path::KernelPath>(),
    ]
}

impl Definition {
    /// Make the program for a machine of `cpus` CPUs from the given values; other parameters keep their defaults.
    ///
    /// An error names the parameter that is unknown or out of range.
    pub fn prepare(&self, mut values: Values, cpus: u32) -> Result<Prepared, ParameterError> {
        parameter::check(&self.parameters, &values)?;
        let load = values.remove(BESIDE).filter(|load| !load.is_null());
        let mut prepared = self.prepare_alone(values, cpus)?;
        if let Some(load) = load {
            let refused = |reason: String| ParameterError::new(BESIDE, &load, reason);
            let beside = prepare_load(load.as_str().unwrap_or_default(), cpus);
            let beside = beside.map_err(|error| refused(error.to_string()))?;
            prepared.program = prepared.program.beside(beside.program).map_err(refused)?;
            prepared.commands.extend(beside.commands);
            prepared.files.extend(beside.files);
            prepared.parameters.insert(BESIDE.to_owned(), load);
        }
        Ok(prepared)
    }
}

/// The workload of a text such as `hackbench groups=2`.
fn prepare_load(text: &str, cpus: u32) -> Result<Prepared, ParameterError> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let all = workloads();
    let Some(load) = all.iter().find(|workload| workload.name == name) else {
        let names = all.iter().map(|workload| workload.name).collect::<Vec<_>>();
        return Err(ParameterError::new("workload", name, format!("must be one of {}", names.join(", "))));
    };
    let mut values = Values::new();
    for word in words {
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| *key != BESIDE) else {
            return Err(ParameterError::new(name, word, "must be a parameter as NAME=VALUE"));
        };
        let parameter = load.parameters.iter().find(|parameter| parameter.name == key);
        // `prepare` refuses an unknown name.
        values.insert(key.to_owned(), parameter.map_or_else(|| Ok(value.into()), |each| each.read(value))?);
    }
    load.prepare(values, cpus)
}
