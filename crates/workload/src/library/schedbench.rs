//! schedbench: processes that each allocate memory and walk it hard, as the NUMA schedbench of the 2.5 kernels did.
//!
//! Each process touches its own memory first itself, so that pages come from the node it runs on then, and afterwards
//! walks it again and again: alternately in order and at random places. A process that is moved away from its memory,
//! or shares a node's bandwidth, takes longer.

use serde::{Deserialize, Serialize};

use super::{MOST, empty};
use crate::error::ParameterError;
use crate::program::{
    Mode, Op, Pattern, Program, Quantity, Resources, Scope, compute, group, lower, region, times,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedbench {
    /// Processes.
    pub processes: u32,
    /// Memory of each, in MiB.
    pub memory_mib: u64,
    /// Walks over the memory.
    pub walks: u64,
    /// Computation between two walks, in nanoseconds.
    pub compute_ns: u64,
    /// Seed of the random walks.
    pub seed: u64,
}

impl Default for Schedbench {
    /// 32 MiB each: more than a process's share of any last-level cache in use.
    fn default() -> Self {
        Self { processes: 4, memory_mib: 32, walks: 40, compute_ns: 0, seed: 0 }
    }
}

impl Schedbench {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("processes", self.processes, 1..=MOST)?;
        ParameterError::check("memory_mib", self.memory_mib, 1..=1 << 20)?;
        ParameterError::check("walks", self.walks, 1..=1_000_000_000)?;
        ParameterError::check("compute_ns", self.compute_ns, 0..=1_000_000_000_000)?;
        let bytes = self.memory_mib << 20;
        let walk = |pattern, write| Op::Touch {
            region: "memory".into(),
            offset: 0u64.into(),
            bytes: bytes.into(),
            stride: 64,
            pattern,
            write,
        };
        let mut round = vec![walk(Pattern::Sequential, true), walk(Pattern::Random, false)];
        if self.compute_ns > 0 {
            round.push(compute(self.compute_ns));
        }
        let body = vec![times(self.walks.div_ceil(2), round)];
        Ok(Program {
            seed: self.seed,
            resources: Resources {
                regions: vec![region("memory", bytes, Scope::Task)],
                ..Resources::default()
            },
            groups: vec![group("walker", self.processes, Mode::Process, body)],
            metrics: vec![
                lower("AvgUser", "s", Quantity::UserPerTask, 1.0),
                lower("Elapsed", "s", Quantity::Elapsed, 1.0),
                lower("TotalUser", "s", Quantity::User, 1.0),
                lower("TotalSys", "s", Quantity::System, 1.0),
            ],
            ..empty("schedbench")
        })
    }
}
