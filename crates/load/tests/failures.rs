//! A failed run reports the reason, names the exceeded limit, and leaves no processes behind.

mod support;

use std::os::unix::process::CommandExt;
use std::process::Command;

use support::{Family, SCHEDLOAD, Scratch, children, eventually, is_root, kill, output, start, stderr};

/// Arguments of a run that lasts longer than a test.
const ENDLESS: [&str; 8] = ["hackbench", "-g", "1", "-f", "4", "-l", "100000000", "-p"];

/// Start an endless run and wait until its eight tasks exist.
fn endless(family: &Family) -> std::process::Child {
    let run = start(&mut family.schedload(&ENDLESS));
    eventually("all tasks exist", || children(run.id()).len() == 8);
    run
}

#[test]
fn a_killed_task_is_named_with_its_signal() {
    let family = Family::new();
    let run = endless(&family);
    let victim = children(run.id())[1];
    kill(victim, "KILL");
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains(&format!("receiver 1 of replica 0 (pid {victim}) was killed by SIGKILL"))
            || text.contains(&format!("receiver 1 (pid {victim}) was killed by SIGKILL")),
        "{text}"
    );
    family.assert_gone();
}

#[test]
fn no_task_survives_a_parent_killed_by_sigkill() {
    let family = Family::new();
    let mut run = endless(&family);
    run.kill().unwrap();
    run.wait().unwrap();
    family.assert_gone();
}

#[test]
fn stop_signals_end_the_run_with_their_exit_status() {
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        for mode in ["-P", "-T"] {
            let family = Family::new();
            let mut run = start(family.schedload(&ENDLESS).arg(mode));
            let tasks = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
            eventually("all tasks exist", || children(run.id()).len() == 8 || tasks(run.id()) == 9);
            kill(run.id() as i32, signal);
            assert_eq!(run.wait().unwrap().code(), Some(status), "{mode}");
            family.assert_gone();
        }
    }
}

#[test]
fn a_limit_on_user_processes_is_named_with_its_value() {
    let (family, scratch) = (Family::new(), Scratch::new());
    // An unprivileged user must be able to execute the program, so the test copies the program out of the
    // build directory.
    let program = scratch.path("schedload");
    std::fs::copy(SCHEDLOAD, &program).unwrap();
    let mut limited = family.command("prlimit");
    limited.args(["--nproc=30", &program, "hackbench", "-g", "10"]).current_dir("/");
    if is_root() {
        // The limit does not apply to root; 65534 is `nobody` by convention (Linux Standard Base).
        limited.uid(65534).gid(65534);
    }
    let output = output(&mut limited);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("of 400 tasks could not be created"), "{text}");
    assert!(text.contains("RLIMIT_NPROC 30"), "{text}");
    family.assert_gone();
}

#[test]
fn a_limit_of_the_pids_control_group_is_named_with_its_value() {
    let Some(group) = PidsGroup::new(20) else {
        // Without a writable hierarchy the limit cannot be set. The test of RLIMIT_NPROC covers the message.
        return;
    };
    for mode in ["-P", "-T"] {
        let family = Family::new();
        let mut shell = family.command("sh");
        let enter = format!("echo $$ > {}/cgroup.procs && exec {SCHEDLOAD} hackbench -g 10 {mode}", group.0);
        let output = output(shell.args(["-c", &enter]));
        assert_eq!(output.status.code(), Some(1), "{mode}");
        let text = stderr(&output);
        assert!(text.contains("could not be created"), "{text}");
        assert!(text.contains(&format!("{}/pids.max = 20", group.0)), "{text}");
        family.assert_gone();
    }
}

/// A control group with a limit on processes.
struct PidsGroup(String);

impl PidsGroup {
    fn new(limit: u32) -> Option<Self> {
        let path = format!("/sys/fs/cgroup/pids/schedload-test-{}", std::process::id());
        std::fs::create_dir(&path).ok()?;
        let group = Self(path);
        std::fs::write(format!("{}/pids.max", group.0), limit.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for PidsGroup {
    fn drop(&mut self) {
        eventually("the control group is empty", || std::fs::remove_dir(&self.0).is_ok());
    }
}

fn with_limit(limit: &str, arguments: &str) -> Command {
    let mut shell = Family::new().command("sh");
    shell.args(["-c", &format!("ulimit {limit}; exec {SCHEDLOAD} {arguments}")]);
    shell
}

#[test]
fn too_few_descriptors_are_reported_before_the_start_with_the_needed_number() {
    let output = output(&mut with_limit("-n 64", "hackbench -T -g 2 -f 20 -l 1"));
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    // 40 channels have 80 ends; 16 descriptors are reserved for other uses.
    assert!(text.contains("96 file descriptors are needed"), "{text}");
    assert!(text.contains("RLIMIT_NOFILE is 64 and its hard limit 64"), "{text}");
}

#[test]
fn a_soft_limit_on_descriptors_is_raised_by_the_program_itself() {
    let output = output(&mut with_limit("-Sn 64", "hackbench -T -g 2 -f 20 -l 1"));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn processes_need_descriptors_for_one_group_at_a_time_only() {
    let output = output(&mut with_limit("-n 64", "hackbench -P -g 8 -f 20 -l 1"));
    assert!(output.status.success(), "{}", stderr(&output));
}

const CLOSED_PIPE: &str = r#"{
  "schema": 1, "name": "closed-pipe",
  "resources": {"channels": [{"name": "pipe", "kind": "pipe"}]},
  "groups": [
    {"name": "reader", "count": 1, "mode": "MODE", "body": [{"receive": {"channel": "pipe", "bytes": 1}}]},
    {"name": "writer", "count": 1, "mode": "MODE", "body": [
      {"loop": {"repeat": {"count": 1000000000}, "body": [{"send": {"channel": "pipe", "bytes": 1000}}]}}
    ]}
  ],
  "metrics": [{"name": "time", "unit": "s", "direction": "lower", "quantity": "elapsed"}]
}"#;

#[test]
fn a_closed_pipe_is_reported_with_the_task_that_wrote_to_it() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let file = scratch.file("closed.json", &CLOSED_PIPE.replace("MODE", "process"));
    let output = output(&mut family.schedload(&["run", &file]));
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("writer 0 failed sending: Broken pipe"), "{text}");
    family.assert_gone();
}

#[test]
fn a_stream_that_ends_too_early_is_reported() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let program = CLOSED_PIPE.replace("MODE", "process").replace("1000000000", "0");
    let file = scratch.file("early.json", &program);
    let output = output(&mut family.schedload(&["run", &file]));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("reader 0 failed receiving: every sender has closed"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_failing_thread_ends_the_run_even_if_other_threads_wait_forever() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let program = CLOSED_PIPE.replace("MODE", "thread").replace(
        r#"[{"receive": {"channel": "pipe", "bytes": 1}}]"#,
        r#"[{"unlock": {"lock": "lock"}}, {"receive": {"channel": "pipe", "bytes": 1}}]"#,
    );
    let program = program.replace(r#""resources": {"#, r#""resources": {"locks": [{"name": "lock"}], "#);
    let file = scratch.file("thread.json", &program);
    let output = output(&mut family.schedload(&["run", &file]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("reader 0 failed unlocking a lock"), "{}", stderr(&output));
    family.assert_gone();
}

#[test]
fn a_command_that_does_not_exist_fails_the_run() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let body = r#"[{"fork": {"body": [{"exec": {"image": {"command": {"argv": ["no-such-command"], "model_ns": 0}}}}]}},
        {"wait": {}}]"#;
    let program = CLOSED_PIPE
        .replace("MODE", "process")
        .replace(r#"[{"receive": {"channel": "pipe", "bytes": 1}}]"#, body)
        .replace("1000000000", "0");
    let program = program.replace(
        r#"[
      {"loop": {"repeat": {"count": 0}, "body": [{"send": {"channel": "pipe", "bytes": 1000}}]}}
    ]"#,
        "[]",
    );
    let file = scratch.file("command.json", &program);
    let output = output(&mut family.schedload(&["run", &file]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("executing `no-such-command`: No such file"), "{}", stderr(&output));
}

#[test]
fn a_failed_allocation_is_reported_with_the_limits() {
    let scratch = Scratch::new();
    let region =
        r#""resources": {"regions": [{"name": "much", "bytes": 1000000000000, "scope": "program"}], "#;
    let program = CLOSED_PIPE.replace("MODE", "process").replace(r#""resources": {"#, region);
    let file = scratch.file("memory.json", &program);
    let output = output(&mut with_limit("-v 4000000", &format!("run {file}")));
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("allocating a memory region") && text.contains("RLIMIT_AS 4096000000"), "{text}");
}
