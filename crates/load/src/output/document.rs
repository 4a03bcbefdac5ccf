//! The JSON document of a run.

use std::collections::BTreeMap;

use schedlab_workload::Program;
use schedlab_workload::measure::Measured;
use schedlab_workload::program::LOAD;
use serde::Serialize;
use serde_json::{Value, json};

use crate::executor::Outcome;

/// Version of the document's layout.
pub const SCHEMA: u32 = 1;

/// One run.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: u32,
    program: String,
    parameters: Value,
    metrics: Vec<Measured>,
    counters: BTreeMap<String, Value>,
}

impl Document {
    /// Collect all data about a run of `program`.
    pub fn new(program: &Program, parameters: Value, outcome: Outcome) -> Self {
        let usage = outcome.usage;
        let mut counters = BTreeMap::from(
            [
                ("elapsed_ns", json!(outcome.observed.elapsed_ns)),
                ("tasks", json!(outcome.observed.tasks)),
                ("user_us", json!(usage.user_us)),
                ("system_us", json!(usage.system_us)),
                ("voluntary_switches", json!(usage.voluntary_switches)),
                ("involuntary_switches", json!(usage.involuntary_switches)),
                ("minor_faults", json!(usage.minor_faults)),
                ("max_rss_kib", json!(usage.max_rss_kib)),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        counters.extend(outcome.rate.map(|rate| ("rounds_per_us".to_owned(), json!(rate.0))));
        let is_of_load = |name: &&String| name.starts_with(LOAD);
        let of_program = program.counters.iter().zip(&outcome.observed.counters);
        for (name, total) in of_program.filter(|(name, _)| !is_of_load(name)) {
            counters.insert(name.clone(), json!(total));
        }
        for (name, one_in) in program.series.iter().zip(&outcome.one_in) {
            if *one_in > 1 && !is_of_load(&name) {
                counters.insert(format!("{name}_samples_one_in"), json!(one_in));
            }
        }
        Self { schema: SCHEMA, program: program.name.clone(), parameters, metrics: outcome.metrics, counters }
    }
}
