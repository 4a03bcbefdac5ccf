//! schedbench: processes that each allocate memory and walk over the memory, like the NUMA schedbench of the
//! 2.5 kernels.
//!
//! Each process touches its memory first, so that the pages come from the present node of the process. Then
//! the process walks over the memory repeatedly: alternately in order and at random places. A process that is
//! moved away from its memory, or shares a node's bandwidth, takes longer.
//!
//! The program follows numa_test by E. Focht ("Re: [RFC] NUMA schedulers benchmark results", linux-kernel, 6 October 2002), which
//! disturbs the processes by a load peak, `hackbench 20`, 3 seconds after their start. Its total times do not contain hackbench's
//! (M. Hohnbaum, "Re: [patch] HT scheduler, sched-2.5.59-D7", linux-kernel, 21 January 2003, prints the times of all processes).

use super::hackbench::Hackbench;
use super::prelude::*;

parameters! {
    /// Processes that each allocate memory and walk over the memory (NUMA schedbench).
    ///
    /// The metrics are the columns of the NUMA schedbench reports of 2003, whose walks are not known. Compare the
    /// figures only with the figures of other runs of this program.
    pub struct Schedbench {
        /// Processes.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "n"))]
        pub processes: u32 = 4,
        // 32 MiB exceed a process's share of any last-level cache in use.
        /// Memory of each process.
        #[serde(rename = "memory")]
        #[schemars(range(min = 1, max = 1 << 20), extend("unit" = "MiB", "short" = "m"))]
        pub memory_mib: u64 = 32,
        /// Walks over the memory, alternately in order and at random.
        #[schemars(range(min = 1, max = 1_000_000_000), extend("short" = "w"))]
        pub walks: u64 = 40,
        /// Computation after every two walks.
        #[serde(rename = "compute_time")]
        #[schemars(with = "Time")]
        pub compute_ns: u64 = 0,
        /// Groups of a hackbench that disturbs the processes; 0: no disturbance. Its CPU time does not count.
        #[schemars(range(min = 0, max = 1000))]
        pub disturbance: u32 = 0,
        /// Time from the start to the disturbance.
        #[serde(rename = "disturbance_after")]
        #[schemars(with = "Time")]
        pub disturbance_after_ns: u64 = 3_000_000_000,
        /// Seed of the random walks.
        pub seed: u64 = 0,
    }
}

impl Workload for Schedbench {
    const NAME: &'static str = "schedbench";
    const JUDGED: &'static [&'static str] = &["Elapsed", "TotalUser"];

    /// About 0.22 ms for a walk over a MiB (mean of both kinds) and 0.4 ms for the first touch.
    fn seconds(&self, cpus: u32) -> f64 {
        let walks = self.walks as f64;
        let each =
            self.memory_mib as f64 * (walks * 0.22e-3 + 0.4e-3) + walks / 2.0 * self.compute_ns as f64 * 1e-9;
        0.1 + f64::from(self.processes) * each / f64::from(self.processes.min(cpus))
    }

    fn build(&self) -> Result<Program, ParameterError> {
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
        let mut groups =
            vec![TaskGroup { program: true, ..group("walker", self.processes, Mode::Process, body) }];
        let mut channels = Vec::new();
        if self.disturbance > 0 {
            let peak = Hackbench { groups: self.disturbance, ..Hackbench::default() };
            let process = group("peak", 1, Mode::Process, peak.main_process("peak"));
            let disturbs_after_ns = Some(self.disturbance_after_ns);
            groups.push(TaskGroup { program: true, disturbs_after_ns, ..process });
            channels = peak.main_channels("peak");
        }
        Ok(Program {
            seed: self.seed,
            resources: Resources {
                channels,
                regions: vec![region("memory", bytes, Scope::Task)],
                ..Resources::default()
            },
            groups,
            metrics: vec![
                lower("Elapsed", "s", Quantity::Elapsed, 1.0),
                lower("AvgUser", "s", Quantity::UserPerTask, 1.0),
                lower("TotalUser", "s", Quantity::User, 1.0),
                lower("TotalSys", "s", Quantity::System, 1.0),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}
