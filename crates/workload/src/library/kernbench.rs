//! kernbench: a build like `make -j N` of a kernel: a tree of directories, each with files to compile and an archive to
//! make of them, and a final link.
//!
//! As with GNU make's job server, N tokens lie in a pipe; whoever starts a job takes one and gives it back at its end.
//! A compilation is a driver process that starts the compiler as a fresh image, which fills memory and computes.
//! Elapsed, user, system time and CPU share are what kernbench (and `time make`) reports.

use serde::{Deserialize, Serialize};

use super::empty;
use crate::error::ParameterError;
use crate::program::{
    ChannelKind, Expr, Image, Mode, Op, Program, Quantity, Resources, channels, fork, group, higher, lower,
    receive, send, times, wait_all,
};

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kernbench {
    /// Jobs at a time.
    pub jobs: u32,
    /// Directories.
    pub directories: u32,
    /// Files to compile in each directory.
    pub files: u32,
    /// Mean computation of a compilation, in nanoseconds; each draws from half to one and a half of it.
    pub compile_ns: u64,
    /// Memory that a compilation fills, in KiB.
    pub memory_kib: u64,
    /// Computation of the final link, in nanoseconds.
    pub link_ns: u64,
    /// Seed of the draws.
    pub seed: u64,
}

/// Bytes of tokens that a pipe holds at least (pipe(7): 16 pages of 4096 bytes).
const MOST_JOBS: u32 = 65_536;

/// Computation of making an archive per file in it, as a part of a compilation.
const ARCHIVE_PART: u64 = 20;

impl Default for Kernbench {
    /// About 2 s of CPU time: 20 directories of 12 files at 8 ms. A compiler of C fills some 16 MiB.
    fn default() -> Self {
        Self {
            jobs: 4,
            directories: 20,
            files: 12,
            compile_ns: 8_000_000,
            memory_kib: 16 * 1024,
            link_ns: 30_000_000,
            seed: 0,
        }
    }
}

impl Kernbench {
    /// The program; an error names the parameter that is out of range.
    pub fn program(&self) -> Result<Program, ParameterError> {
        ParameterError::check("jobs", self.jobs, 1..=MOST_JOBS)?;
        ParameterError::check("directories", self.directories, 1..=100_000)?;
        ParameterError::check("files", self.files, 1..=100_000)?;
        ParameterError::check("compile_ns", self.compile_ns, 1000..=1_000_000_000_000)?;
        ParameterError::check("memory_kib", self.memory_kib, 0..=1 << 26)?;
        ParameterError::check("link_ns", self.link_ns, 0..=1_000_000_000_000)?;
        let compile_ns = Expr::random(self.compile_ns / 2, self.compile_ns * 3 / 2 + 1);
        let compile = job(vec![fork(vec![work(compile_ns, self.memory_kib << 10)]), wait_all()]);
        let archive_ns = self.compile_ns / ARCHIVE_PART * u64::from(self.files);
        let archive = job(vec![fork(vec![work(archive_ns.into(), 0)]), wait_all()]);
        let directory = [vec![times(self.files, compile), wait_all()], archive, vec![wait_all()]].concat();
        let make = vec![
            times(self.jobs, vec![send("tokens", 1u64)]),
            times(self.directories, vec![fork(directory)]),
            wait_all(),
            fork(vec![work(self.link_ns.into(), self.memory_kib << 10)]),
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
            ..empty("kernbench")
        })
    }
}

/// A job: takes a token, runs `body` in a child, which gives the token back.
fn job(body: Vec<Op>) -> Vec<Op> {
    let body = [body, vec![send("tokens", 1u64)]].concat();
    vec![receive("tokens", 1u64), fork(body)]
}

fn work(ns: Expr, bytes: u64) -> Op {
    Op::Exec { image: Image::Work { ns, bytes: bytes.into() } }
}
