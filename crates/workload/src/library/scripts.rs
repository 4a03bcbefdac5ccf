//! scripts: several parallel streams of short UNIX command scripts, as on a time-sharing system.
//!
//! This workload shares the kind of load with SPEC's SDET: fork, exec, small files, pipes, exit. Scripts,
//! commands and files differ.

use super::prelude::*;

parameters! {
    /// Streams of short UNIX command scripts, like the scripts of users of a time-sharing system.
    ///
    /// This workload is neither SPEC's SDET nor comparable to SDET: other scripts, other commands, other
    /// files.
    pub struct Scripts {
        /// Streams at once.
        #[schemars(range(min = 1, max = MAX_TASKS), extend("short" = "s"))]
        pub streams: u32 = 4,
        /// Scripts that each stream runs, one after the other.
        #[schemars(range(min = 1, max = 1_000_000_000), extend("short" = "n"))]
        pub scripts: u64 = 50,
        /// Seed of the choice of scripts.
        pub seed: u64 = 0,
    }
}

/// The scripts: relative frequency, text for `sh -c`, and approximate computation in nanoseconds, for simulators.
///
/// The scripts run in a directory with the file `words`, and name their new files by the shell's process
/// number.
const MIX: [(u32, &str, u64); 6] = [
    (3, "ls -l . | sort | wc -l > /dev/null", 3_000_000),
    (3, "cp words w.$$ && sort w.$$ > s.$$ && cmp words s.$$ > /dev/null; rm -f w.$$ s.$$", 4_000_000),
    (2, "grep -c e words > /dev/null; grep -v a words | head -n 5 > /dev/null", 3_000_000),
    (2, "mkdir d.$$ && cp words d.$$/a && cat d.$$/a d.$$/a > d.$$/b && rm -r d.$$", 4_000_000),
    (2, "i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done; expr $i + 1 > /dev/null", 1_500_000),
    (1, "tr a-z A-Z < words | sort -r | uniq | tail -n 3 > /dev/null", 4_000_000),
];

impl Workload for Scripts {
    const NAME: &'static str = "scripts";
    const JUDGED: &'static [&'static str] = &["throughput"];
    const SAMPLES: Option<(&'static str, &'static str)> = Some(("script", "script"));
    const COMMANDS: &'static [&'static str] = &[
        "sh", "cat", "cmp", "cp", "expr", "grep", "head", "ls", "mkdir", "rm", "sort", "tail", "tr", "uniq",
        "wc",
    ];

    fn files() -> Vec<(&'static str, String)> {
        // 500 different lines in no particular order: 617 generates the numbers modulo the prime 1009.
        let words = (1..=500).map(|n| format!("line {:04} of the words\n", n * 617 % 1009)).collect();
        vec![("words", words)]
    }

    /// About 5 ms of CPU time for a script.
    fn seconds(&self, cpus: u32) -> f64 {
        0.1 + f64::from(self.streams) * self.scripts as f64 * 5e-3 / f64::from(self.streams.min(cpus))
    }

    fn build(&self) -> Result<Program, ParameterError> {
        let branch = |(weight, text, model_ns): &(u32, &str, u64)| {
            let argv = ["sh", "-c", *text].map(str::to_owned).to_vec();
            let run = vec![Op::Exec { image: Image::Command { argv, model_ns: *model_ns } }];
            Branch { weight: *weight, body: vec![fork(run)] }
        };
        let script = vec![
            stamp("begun"),
            Op::Choose { branches: MIX.iter().map(branch).collect() },
            wait_all(),
            record("begun", "script"),
            count("scripts", 1u64),
        ];
        let percentile =
            |name: &str, percent| lower(name, "ms", Quantity::Percentile("script".to_owned(), percent), 1e-6);
        Ok(Program {
            seed: self.seed,
            resources: Resources { slots: vec![slots("begun", 1, Scope::Task)], ..Resources::default() },
            counters: names(["scripts"]),
            series: names(["script"]),
            groups: vec![group("stream", self.streams, Mode::Process, vec![times(self.scripts, script)])],
            metrics: vec![
                higher("throughput", "scripts/hour", Quantity::Rate("scripts".to_owned()), 3600.0),
                lower("script", "ms", Quantity::Mean("script".to_owned()), 1e-6),
                percentile("script-p5", 5.0),
                percentile("script-p50", 50.0),
                percentile("script-p95", 95.0),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}
