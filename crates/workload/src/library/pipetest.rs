//! pipetest: two tasks pass a message back and forth over two pipes.
//!
//! The shape of `perf bench sched pipe` (perf-bench(1)): in one operation the first task writes to one pipe and reads
//! from the other while the second reads and then writes, so an operation is one round trip with two wake-ups. Every
//! operation's time is recorded, not only their mean.

use serde::{Deserialize, Serialize};

use crate::error::ParameterError;
use crate::program::{
    ChannelKind, Gate, Mode, Program, Quantity, Resources, SCHEMA, Scope, channels, count, group, lap, lower,
    receive, send, slots, stamp, times,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipetest {
    /// Round trips.
    pub loops: u64,
    /// Bytes per message.
    pub size: u64,
    /// Processes or threads.
    pub mode: Mode,
}

impl Default for Pipetest {
    /// Messages of 4 bytes between processes as in `perf bench sched pipe`; its million loops are cut to 100 000
    /// (about half a second on a current machine).
    fn default() -> Self {
        Self { loops: 100_000, size: 4, mode: Mode::Process }
    }
}

impl Pipetest {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("loops", self.loops, 1..=1_000_000_000)?;
        ParameterError::check("size", self.size, 1..=1 << 20)?;
        let first = vec![
            stamp("turn"),
            times(
                self.loops,
                vec![send("there", self.size), receive("back", self.size), lap("turn", "round_trip")],
            ),
            count("operations", self.loops),
        ];
        let second = vec![times(self.loops, vec![receive("there", self.size), send("back", self.size)])];
        let pipe = |name| channels(name, ChannelKind::Pipe, 1);
        Ok(Program {
            schema: SCHEMA,
            name: "pipetest".to_owned(),
            seed: 0,
            replicas: 1,
            gate: Gate::default(),
            window: None,
            resources: Resources {
                channels: vec![pipe("there"), pipe("back")],
                slots: vec![slots("turn", 1, Scope::Task)],
                ..Default::default()
            },
            counters: vec!["operations".to_owned()],
            series: vec!["round_trip".to_owned()],
            groups: vec![group("first", 1, self.mode, first), group("second", 1, self.mode, second)],
            metrics: vec![
                lower("latency", "us", Quantity::Mean("round_trip".to_owned()), 1e-3),
                lower("usecs_per_op", "us", Quantity::ElapsedPer("operations".to_owned()), 1e6),
            ],
        })
    }
}
