//! kernbench: a build like `make -j N` of a kernel. Each directory has files to compile, whose objects form an archive; the
//! build ends with a link.
//!
//! As with GNU make's job server, a pipe contains N tokens; a job takes a token at its start and returns the
//! token at its end. A compilation is a driver process that starts the compiler as a fresh image, which fills
//! memory and computes. The metrics are the same as for kernbench and `time make`: elapsed, user and system
//! time, and the CPU share.

use super::prelude::*;

parameters! {
    /// A build like `make -j N`, of short processes that fork, execute, fill memory and compute.
    ///
    /// The model shares kernbench's shape (fork, exec, memory, CPU, wait, a job server), not its figures.
    pub struct Kernbench {
        /// Jobs at a time on each CPU.
        #[schemars(range(min = 1, max = 1024))]
        pub jobs_per_cpu: u32 = 2,
        /// Jobs at a time; 0: jobs_per_cpu times the number of CPUs that the load may use.
        #[schemars(range(min = 0, max = MAX_JOBS), extend("short" = "j", "instead_of" = ["jobs_per_cpu"]))]
        pub jobs: u32 = 0,
        // 20 directories of 12 files at 8 ms take about 2 s of CPU time. A compiler of C fills some 16 MiB.
        /// Directories.
        #[schemars(range(min = 1, max = 100_000))]
        pub directories: u32 = 20,
        /// Files to compile in each directory.
        #[schemars(range(min = 1, max = 100_000))]
        pub files: u32 = 12,
        /// Mean computation of a compilation. Each compilation draws from half to one and a half of the mean.
        #[serde(rename = "compile_time")]
        #[schemars(with = "Time", range(min = 1000))]
        pub compile_ns: u64 = 8_000_000,
        /// Memory that a compilation fills.
        #[serde(rename = "memory")]
        #[schemars(range(min = 0, max = 1 << 26), extend("unit" = "KiB"))]
        pub memory_kib: u64 = 16 * 1024,
        /// Header files that a compilation opens, reads and closes.
        #[schemars(range(min = 0, max = 100_000))]
        pub headers: u64 = 0,
        /// Computation of the final link.
        #[serde(rename = "link_time")]
        #[schemars(with = "Time")]
        pub link_ns: u64 = 30_000_000,
        /// Seed of the differences between compilations.
        pub seed: u64 = 0,
    }
}

/// Capacity of a pipe in tokens of one byte (pipe(7): 16 pages of 4096 bytes).
const MAX_JOBS: u32 = 65_536;

/// Computation of a compilation divided by the computation of adding its file to an archive.
const ARCHIVE_PART: u64 = 20;

impl Workload for Kernbench {
    const NAME: &'static str = "kernbench-native";
    const COMMAND: &'static str = "kernbench";
    const JUDGED: &'static [&'static str] = &["elapsed"];

    fn resolve(&mut self, cpus: u32) {
        if self.jobs == 0 {
            self.jobs = self.jobs_per_cpu.saturating_mul(cpus).clamp(1, MAX_JOBS);
        }
    }

    /// The computation, and 0.4 ms for each MiB that is filled (page faults).
    fn seconds(&self, cpus: u32) -> f64 {
        let files = f64::from(self.directories) * f64::from(self.files);
        let each = self.compile_ns as f64 * 1.05e-9 + self.memory_kib as f64 / 1024.0 * 0.4e-3;
        files * each / f64::from(self.jobs().min(cpus)) + self.link_ns as f64 * 1e-9
    }

    fn build(&self) -> Result<Program, ParameterError> {
        let compile_ns = Expr::random(self.compile_ns / 2, self.compile_ns * 3 / 2 + 1);
        let compile =
            job(vec![fork(vec![work(compile_ns, self.memory_kib << 10, self.headers)]), wait_all()]);
        let archive_ns = self.compile_ns / ARCHIVE_PART * u64::from(self.files);
        let archive = job(vec![fork(vec![work(archive_ns.into(), 0, 0)]), wait_all()]);
        let directory = [vec![times(self.files, compile), wait_all()], archive, vec![wait_all()]].concat();
        let make = vec![
            times(self.jobs(), vec![send("tokens", 1u64)]),
            times(self.directories, vec![fork(directory)]),
            wait_all(),
            fork(vec![work(self.link_ns.into(), self.memory_kib << 10, 0)]),
            wait_all(),
        ];
        Ok(Program {
            seed: self.seed,
            resources: Resources {
                channels: vec![channels("tokens", ChannelKind::Pipe, 1)],
                ..Resources::default()
            },
            groups: vec![group("make", 1, Mode::Process, make)],
            metrics: vec![
                lower("elapsed", "s", Quantity::Elapsed, 1.0),
                lower("user", "s", Quantity::User, 1.0),
                lower("system", "s", Quantity::System, 1.0),
                higher("cpu", "%", Quantity::CpuShare, 100.0),
            ],
            ..Program::named(Self::COMMAND)
        })
    }
}

impl Kernbench {
    /// Jobs at a time; on one CPU where [`Workload::resolve`] was not called.
    fn jobs(&self) -> u32 {
        if self.jobs == 0 { self.jobs_per_cpu } else { self.jobs }
    }
}

/// A job: takes a token and runs `body` in a child, which returns the token.
fn job(body: Vec<Op>) -> Vec<Op> {
    let body = [body, vec![send("tokens", 1u64)]].concat();
    vec![receive("tokens", 1u64), fork(body)]
}

fn work(ns: Expr, bytes: u64, files: u64) -> Op {
    Op::Exec { image: Image::Work { ns, bytes: bytes.into(), files: files.into() } }
}
