//! scripts: several parallel streams of short UNIX command scripts, as on a time-sharing system.
//!
//! This workload shares the kind of load with SPEC's SDET: fork, exec, small files, pipes, exit. Scripts,
//! commands and files differ.
//!
//! A simulator performs a model of each script: the shell forks the commands of a pipeline, waits for all, and goes on
//! with the next pipeline. A command reads its input whole, computes, and writes.

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

/// A script of the mix.
struct Script {
    /// Relative frequency.
    weight: u32,
    /// Text for `sh -c`. The script runs in a directory with the file `words`, and names its new files by the
    /// shell's process number.
    text: &'static str,
    /// Approximate computation in nanoseconds, for simulators: equal parts for the shell and for each command.
    ns: u64,
    /// Bytes that a command of a pipeline writes to the next command, for simulators.
    piped: u64,
}

const fn script(weight: u32, ns: u64, piped: u64, text: &'static str) -> Script {
    Script { weight, text, ns, piped }
}

const MIX: [Script; 6] = [
    script(3, 3_000_000, LISTING, "ls -l . | sort | wc -l > /dev/null"),
    script(
        3,
        4_000_000,
        0,
        "cp words w.$$ && sort w.$$ > s.$$ && cmp words s.$$ > /dev/null; rm -f w.$$ s.$$",
    ),
    script(2, 3_000_000, WORDS, "grep -c e words > /dev/null; grep -v a words | head -n 5 > /dev/null"),
    script(2, 4_000_000, 0, "mkdir d.$$ && cp words d.$$/a && cat d.$$/a d.$$/a > d.$$/b && rm -r d.$$"),
    script(2, 1_500_000, 0, "i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done; expr $i + 1 > /dev/null"),
    script(1, 4_000_000, WORDS, "tr a-z A-Z < words | sort -r | uniq | tail -n 3 > /dev/null"),
];

/// Bytes of the file `words`, which every filter but `grep` passes on.
const WORDS: u64 = 500 * 23;

/// Bytes of the listing of a directory with about four files.
const LISTING: u64 = 256;

/// Bytes that a command of the C library's buffered output writes to a pipe at once (the pipe's `st_blksize`).
const WRITTEN_AT_ONCE: u64 = 4096;

/// Most pipes of a pipeline.
const PIPES: u32 = 3;

impl Script {
    /// The process that runs the script.
    fn body(&self) -> Vec<Op> {
        let argv = ["sh", "-c", self.text].map(str::to_owned).to_vec();
        let pipelines: Vec<Vec<&str>> =
            self.text.split("&&").flat_map(|part| part.split(';')).map(commands).collect();
        let ns = self.ns / (1 + pipelines.iter().map(|pipeline| pipeline.len() as u64).sum::<u64>());
        let mut model = vec![compute(ns)];
        for pipeline in pipelines.iter().filter(|pipeline| !pipeline.is_empty()) {
            for (stage, name) in pipeline.iter().enumerate() {
                let mut filter = Vec::new();
                if stage > 0 {
                    filter.push(receive(at("pipes", stage as u64 - 1), self.piped));
                }
                filter.push(compute(ns));
                if stage + 1 < pipeline.len() {
                    let pipe = || at("pipes", stage as u64);
                    filter.push(times(self.piped / WRITTEN_AT_ONCE, vec![send(pipe(), WRITTEN_AT_ONCE)]));
                    filter.push(send(pipe(), self.piped % WRITTEN_AT_ONCE));
                }
                let image = Image::Command { argv: vec![(*name).to_owned()], model_ns: 0, model: filter };
                model.push(fork(vec![Op::Exec { image }]));
            }
            model.push(wait_all());
        }
        vec![Op::Exec { image: Image::Command { argv, model_ns: 0, model } }]
    }
}

/// Names of the commands that a shell starts for a pipeline; none for the shell's own words.
fn commands(pipeline: &str) -> Vec<&str> {
    let names = pipeline.split('|').filter_map(|command| command.split_whitespace().next());
    names.filter(|name| Scripts::COMMANDS.contains(name)).collect()
}

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
        let script = vec![
            stamp("begun"),
            Op::Choose {
                branches: MIX
                    .iter()
                    .map(|script| Branch { weight: script.weight, body: vec![fork(script.body())] })
                    .collect(),
            },
            wait_all(),
            record("begun", "script"),
            count("scripts", 1u64),
        ];
        let percentile =
            |name: &str, percent| lower(name, "ms", Quantity::Percentile("script".to_owned(), percent), 1e-6);
        Ok(Program {
            seed: self.seed,
            resources: Resources {
                channels: vec![Channel { scope: Scope::Task, ..channels("pipes", ChannelKind::Pipe, PIPES) }],
                slots: vec![slots("begun", 1, Scope::Task)],
                ..Resources::default()
            },
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
