//! scripts: several streams of short UNIX command scripts at once, as a time-sharing system runs them.
//!
//! It is neither SPEC's SDET nor comparable to it: other scripts, other commands, other files. What it shares is the
//! kind of load: fork, exec, small files, pipes, exit.

use serde::{Deserialize, Serialize};

use super::{MOST, empty, names};
use crate::error::ParameterError;
use crate::program::{
    Branch, Image, Mode, Op, Program, Quantity, Resources, Scope, count, fork, group, higher, lower, record,
    slots, stamp, times, wait_all,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scripts {
    /// Streams at once.
    pub streams: u32,
    /// Scripts that each stream runs, one after the other.
    pub scripts: u64,
    /// Seed of the streams' choice of scripts.
    pub seed: u64,
}

/// The scripts: relative frequency, text for `sh -c`, and about how long it computes, in nanoseconds, for simulators.
///
/// They run in a directory with [`files`], and name their own files by the shell's process number.
const MIX: [(u32, &str, u64); 6] = [
    (3, "ls -l . | sort | wc -l > /dev/null", 3_000_000),
    (3, "cp words w.$$ && sort w.$$ > s.$$ && cmp words s.$$ > /dev/null; rm -f w.$$ s.$$", 4_000_000),
    (2, "grep -c e words > /dev/null; grep -v a words | head -n 5 > /dev/null", 3_000_000),
    (2, "mkdir d.$$ && cp words d.$$/a && cat d.$$/a d.$$/a > d.$$/b && rm -r d.$$", 4_000_000),
    (2, "i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done; expr $i + 1 > /dev/null", 1_500_000),
    (1, "tr a-z A-Z < words | sort -r | uniq | tail -n 3 > /dev/null", 4_000_000),
];

/// Commands that the scripts need in `PATH`.
pub const COMMANDS: [&str; 15] = [
    "sh", "cat", "cmp", "cp", "expr", "grep", "head", "ls", "mkdir", "rm", "sort", "tail", "tr", "uniq", "wc",
];

/// Files that the scripts need in their directory: name and contents.
pub fn files() -> [(&'static str, String); 1] {
    // 500 different lines in no particular order: the multiples of a number prime to 1009 modulo it.
    let words = (1..=500).map(|n| format!("line {:04} of the words\n", n * 617 % 1009)).collect();
    [("words", words)]
}

impl Default for Scripts {
    fn default() -> Self {
        Self { streams: 4, scripts: 50, seed: 0 }
    }
}

impl Scripts {
    /// The program, to be run in a directory with [`files`]; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("streams", self.streams, 1..=MOST)?;
        ParameterError::check("scripts", self.scripts, 1..=1_000_000_000)?;
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
                percentile("script_p5", 5.0),
                percentile("script_p50", 50.0),
                percentile("script_p95", 95.0),
            ],
            ..empty("scripts")
        })
    }
}
