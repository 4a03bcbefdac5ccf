//! Helpers that run `schedload` and find its remaining processes.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, signal};
use serde_json::Value;

/// The program under test.
pub const SCHEDLOAD: &str = env!("CARGO_BIN_EXE_schedload");

/// Longest wait of a test. The awaited event takes milliseconds on an idle machine; the limit allows for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Environment variable that marks all descendants of a test's command.
const MARK: &str = "SCHEDLOAD_TEST_MARK";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A family of processes: all processes with the family's mark in their environment.
pub struct Family(String);

impl Family {
    pub fn new() -> Self {
        Self(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Return a command whose processes belong to this family. A shell ignores SIGINT and SIGQUIT in background jobs,
    /// and nohup(1) ignores SIGHUP; the command does not inherit the ignored signals.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env(MARK, &self.0).stdin(Stdio::null());
        let restore = || {
            for number in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP] {
                // SAFETY: the default action runs no code of this process.
                unsafe { signal(number, SigHandler::SigDfl) }?;
            }
            Ok(())
        };
        // SAFETY: signal(2) is async-signal-safe (signal-safety(7)), and the loop allocates nothing.
        unsafe { command.pre_exec(restore) };
        command
    }

    /// Return the command `schedload` with arguments.
    pub fn schedload(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(SCHEDLOAD);
        command.args(arguments);
        command
    }

    /// Return the live processes of the family, without zombies.
    pub fn members(&self) -> Vec<i32> {
        let mark = format!("{MARK}={}\0", self.0).into_bytes();
        let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = |pid: &i32| {
            // The environment of a zombie is empty.
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark)
        };
        pids.filter(ours).collect()
    }

    /// Wait until no process of the family is left.
    pub fn assert_gone(&self) {
        eventually("every process of the test has ended", || self.members().is_empty());
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        for pid in self.members() {
            kill(pid, "KILL");
        }
    }
}

/// Wait until `condition` returns true; fail after [`PATIENCE`].
pub fn eventually(condition_text: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain until {condition_text}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Send a signal by name.
pub fn kill(pid: i32, signal: &str) {
    let _ =
        Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Return the direct children of a process.
pub fn children(pid: u32) -> Vec<i32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Start a command in the background and capture its output.
pub fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Run a command to its end.
pub fn output(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

/// Return the standard output of a run that must succeed.
pub fn success(command: &mut Command) -> String {
    let output = output(command);
    assert!(output.status.success(), "{:?}: {}", output.status, stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// Return standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Return the JSON document of a run that must succeed.
pub fn json(command: &mut Command) -> Value {
    serde_json::from_str(&success(command)).expect("one JSON document")
}

/// Return a metric of a run's document by name.
pub fn metric<'a>(document: &'a Value, name: &str) -> &'a Value {
    let metrics = document["metrics"].as_array().expect("metrics");
    metrics.iter().find(|metric| metric["name"] == name).expect("the metric")
}

/// A directory that is removed at the end of the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Self {
        let name = format!("schedload-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a temporary directory");
        Self(path)
    }

    /// Write a file and return its path.
    pub fn file(&self, name: &str, contents: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, contents).expect("a temporary file");
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    /// Return the path of a file that does not exist yet.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a path in UTF-8").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// Return a CPU's stolen time in the ticks of /proc/stat (proc_stat(5): the eighth figure).
pub fn stolen_ticks(cpu: u32) -> u64 {
    let stat = fs::read_to_string("/proc/stat").expect("/proc is mounted");
    let line = stat
        .lines()
        .find(|line| line.split(' ').next() == Some(&format!("cpu{cpu}")))
        .expect("the CPU is online");
    line.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}
