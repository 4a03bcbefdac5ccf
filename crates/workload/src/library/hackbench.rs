//! hackbench: groups of senders that each write to all receivers of their group.
//!
//! Behaviour as documented in hackbench(8) of rt-tests 2.4 and seen in its system calls: per group, `fds` receivers
//! and `fds` senders; each sender writes `loops` messages to each receiver, each receiver reads all of them; all
//! tasks report ready and poll for the go signal over the same kind of channel that carries the data; time runs from
//! the go signal until all tasks are reaped.

use serde::{Deserialize, Serialize};

use crate::error::ParameterError;
use crate::program::{
    ChannelKind, Expr, Gate, GateKind, Mode, Program, Quantity, Resources, SCHEMA, at, channels, group,
    lower, receive, send, times,
};

/// Parameters, with hackbench's names and defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hackbench {
    /// Groups of senders and receivers.
    pub groups: u32,
    /// Senders, and receivers, per group.
    pub fds: u32,
    /// Messages from each sender to each receiver.
    pub loops: u64,
    /// Bytes per message.
    pub datasize: u64,
    /// What carries messages and the start signals.
    pub channel: Carrier,
    /// Processes or threads.
    pub mode: Mode,
    /// The main thread runs under `SCHED_FIFO` from the creation of the last task on.
    pub fifo: bool,
}

/// What carries hackbench's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// Unix stream sockets (default).
    Socket,
    /// Pipes.
    Pipe,
    /// TCP over loopback.
    Inet,
}

impl Default for Hackbench {
    /// The defaults of rt-tests 2.4: 10 groups of 40 tasks, 100 messages of 100 bytes, processes and sockets.
    fn default() -> Self {
        Self {
            groups: 10,
            fds: 20,
            loops: 100,
            datasize: 100,
            channel: Carrier::Socket,
            mode: Mode::Process,
            fifo: false,
        }
    }
}

impl Hackbench {
    /// Number of tasks.
    pub fn tasks(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.fds) * 2
    }

    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("groups", self.groups, 1..=100_000)?;
        ParameterError::check("fds", self.fds, 1..=10_000)?;
        ParameterError::check("loops", self.loops, 1..=1_000_000_000)?;
        ParameterError::check("datasize", self.datasize, 1..=1 << 24)?;
        ParameterError::check("groups x fds x 2", self.tasks(), 1..=crate::check::MAX_TASKS)?;
        let (kind, gate) = match self.channel {
            Carrier::Socket => (ChannelKind::Unix, GateKind::Unix),
            Carrier::Pipe => (ChannelKind::Pipe, GateKind::Pipe),
            Carrier::Inet => (ChannelKind::Tcp, GateKind::Tcp),
        };
        let messages = self.loops * u64::from(self.fds);
        let receiver = times(messages, vec![receive(at("data", Expr::task()), self.datasize)]);
        let to_each = times(self.fds, vec![send(at("data", Expr::loop_index(0)), self.datasize)]);
        Ok(Program {
            schema: SCHEMA,
            name: "hackbench".to_owned(),
            seed: 0,
            replicas: self.groups,
            gate: Gate { kind: gate, fifo: self.fifo },
            window: None,
            resources: Resources { channels: vec![channels("data", kind, self.fds)], ..Default::default() },
            counters: Vec::new(),
            series: Vec::new(),
            groups: vec![
                group("receiver", self.fds, self.mode, vec![receiver]),
                group("sender", self.fds, self.mode, vec![times(self.loops, vec![to_each])]),
            ],
            metrics: vec![lower("time", "s", Quantity::Elapsed, 1.0)],
        })
    }
}
