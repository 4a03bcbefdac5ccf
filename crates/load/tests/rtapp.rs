//! `schedload rt-app`: files of rt-app run on the kernel of this machine.

mod support;

use std::process::Command;

use serde_json::Value;
use support::{Family, Scratch, json, output, stderr, stolen_ticks, success};

fn run(scratch: &Scratch, text: &str, options: &[&str]) -> Value {
    let file = scratch.file("workload.json", text);
    json(Family::new().schedload(&["--json", "rt-app", &file]).args(options))
}

fn metric(document: &Value, name: &str) -> f64 {
    let metrics = document["metrics"].as_array().expect("metrics");
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.and_then(|metric| metric["value"].as_f64()).unwrap_or_else(|| panic!("{name} in {document}"))
}

#[test]
fn every_event_is_performed() {
    let text = r#"{"global": {"mem_buffer_size": 8192, "io_device": "/dev/null"}, "tasks": {
        "a": {"loop": 3, "run": 10, "runtime": 20, "sleep": 10, "mem": 5000, "iorun": 20000, "yield": "",
              "memrun": {"type": "chase", "size": 65536, "count": 10}, "barrier": "b",
              "timer": {"ref": "unique", "period": 1000}, "sem_post": "s",
              "lock": "m", "sync": {"ref": "told", "mutex": "m"}, "signal": "told", "unlock": "m",
              "fork": "child", "policy": "SCHED_BATCH", "priority": 3},
        "b": {"loop": 3, "barrier": "b", "sem_wait": "s", "sleep": 2000, "resume": "c",
              "lock": "m", "sync": {"ref": "told", "mutex": "m"}, "broad": "told", "unlock": "m"},
        "c": {"loop": 2, "suspend": "c"},
        "child": {"instance": 0, "loop": 2, "run": 5, "timer": {"ref": "unique", "period": 100, "mode": "absolute"}}
    }}"#;
    let scratch = Scratch::new();
    // The condition has a name of its own: one named as a task is what that task's `suspend` waits for, and a signal
    // may then wake either.
    let document = run(&scratch, text, &["--duration", "1"]);
    assert_eq!((metric(&document, "a.loops"), metric(&document, "b.loops")), (3.0, 3.0), "{document}");
    let timers = metric(&document, "child.missed") + metric(&document, "a.missed");
    assert!(timers <= 9.0, "3 of `a` and 2 for each of its 3 children: {document}");
    assert!(metric(&document, "child.loops") >= 2.0, "{document}");
    assert!((0.9..5.0).contains(&metric(&document, "time")), "{document}");
}

#[test]
fn phases_end_by_their_loops_and_are_counted() {
    let text = r#"{"tasks": {"t": {"instance": 2, "loop": 2, "phases": {
        "light": {"loop": 3, "run": 10, "timer": {"ref": "unique", "period": 500}},
        "heavy": {"loop": 2, "run": 100, "timer": {"ref": "unique", "period": 500}}}}}}"#;
    let scratch = Scratch::new();
    let document = run(&scratch, text, &[]);
    assert_eq!(metric(&document, "t.loops"), 20.0);
    // Ten periods of 0.5 ms at least for each thread.
    assert!(metric(&document, "time") >= 0.005, "{document}");
}

#[test]
fn a_task_that_waits_forever_is_cut_off_by_the_duration() {
    let text = r#"{"global": {"duration": 1}, "tasks": {"stuck": {"loop": 1, "suspend": ""},
        "parent": {"loop": 1, "fork": "stuck"}, "busy": {"run": 100, "sleep": 1000}}}"#;
    let scratch = Scratch::new();
    let family = Family::new();
    let file = scratch.file("stuck.json", text);
    let document = json(&mut family.schedload(&["--json", "rt-app", &file]));
    assert!(metric(&document, "busy.loops") > 10.0, "{document}");
    family.assert_gone();
}

#[test]
fn a_wrong_file_is_refused_with_the_place() {
    let scratch = Scratch::new();
    let file = scratch.file("wrong.json", "{\"tasks\": {\"t\": {\n \"loop\": 1,\n \"sleeep\": 4}}}");
    let refused = output(&mut Family::new().schedload(&["rt-app", &file]));
    assert_eq!(refused.status.code(), Some(1));
    let text = stderr(&refused);
    assert!(text.contains("line 3, column 2, tasks.t.sleeep: unknown event"), "{text}");
    let missing = output(&mut Family::new().schedload(&["rt-app", &scratch.path("missing.json")]));
    assert!(stderr(&missing).contains("No such file"));
}

#[test]
fn more_memory_than_there_is_is_refused_before_the_start() {
    let text = r#"{"global": {"mem_buffer_size": 900000000000000}, "tasks": {"t": {"loop": 1, "mem": 900000000000000}}}"#;
    let scratch = Scratch::new();
    let file = scratch.file("large.json", text);
    let refused = output(&mut Family::new().schedload(&["rt-app", &file]));
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("MiB are available"), "{}", stderr(&refused));
}

#[test]
fn what_the_kernel_refuses_is_the_tasks_failure() {
    let text = r#"{"tasks": {"t": {"loop": 1, "run": 1, "cpus": [1023]}}}"#;
    let scratch = Scratch::new();
    let file = scratch.file("cpus.json", text);
    let refused = output(&mut Family::new().schedload(&["rt-app", &file]));
    assert_eq!(refused.status.code(), Some(1));
    let text = stderr(&refused);
    assert!(text.contains("t 0") && text.contains("1023"), "{text}");
}

#[test]
fn the_shown_program_runs_as_the_file_does() {
    let scratch = Scratch::new();
    let file = scratch.file("w.json", r#"{"tasks": {"t": {"loop": 4, "run": 1, "priority": 2}}}"#);
    let shown = success(&mut Family::new().schedload(&["rt-app", "--show", &file]));
    let program = scratch.file("program.json", &shown);
    let document = json(&mut Family::new().schedload(&["--json", "run", &program]));
    assert_eq!(metric(&document, "t.loops"), 4.0);
}

/// Two threads that compete for one CPU, with nice values 1 and 6: weights 820 and 272 (`sched_prio_to_weight` of the
/// kernel), so 75.1 % and 24.9 % of it. rt-app leaves a thread that asks for 0 at the nice value that it inherited.
fn competition(scratch: &Scratch) -> String {
    let directory = scratch.path("");
    let text = format!(
        r#"{{"global": {{"duration": 2, "calibration": 200, "lock_pages": false, "logdir": "{directory}",
            "log_basename": "rt"}},
        "tasks": {{"fast": {{"cpus": [0], "policy": "SCHED_OTHER", "priority": 1, "run": 2000}},
                   "slow": {{"cpus": [0], "policy": "SCHED_OTHER", "priority": 6, "run": 2000}}}}}}"#
    );
    scratch.file("competition.json", &text)
}

/// Share of the first of two threads that do the same work per loop.
fn share(fast: f64, slow: f64) -> f64 {
    fast / (fast + slow)
}

/// The share that a trial finds, which must lie within 0.05 of the one expected. The kernel charges time that the
/// hypervisor gave to another machine to the thread that was on the CPU, which then waits as if it had had it: a trial
/// that lost time and disagrees is repeated. None when all five of them did.
fn agreed(expected: f64, mut trial: impl FnMut() -> f64) -> Option<f64> {
    (0..5).find_map(|_| {
        let before = stolen_ticks(0);
        let found = trial();
        let agrees = (found - expected).abs() < 0.05;
        // Two ticks of 10 ms move a share of 2 s by less than 0.01.
        assert!(
            agrees || stolen_ticks(0) - before > 2,
            "{expected:.3} of the CPU was expected, not {found}, with no time stolen"
        );
        agrees.then_some(found)
    })
}

#[test]
#[ignore = "compares with this machine's kernel: make verify"]
#[allow(clippy::print_stdout, reason = "a test that cannot run in full says so")]
fn cpu_shares_are_those_of_rt_app() {
    let scratch = Scratch::new();
    let file = competition(&scratch);
    let ours = || {
        let document = json(&mut Family::new().schedload(&["--json", "rt-app", &file]));
        share(metric(&document, "fast.loops"), metric(&document, "slow.loops"))
    };
    let Some(own) = agreed(0.751, ours) else {
        println!("skipped cpu_shares_are_those_of_rt_app: the hypervisor took time in each of five trials");
        return;
    };
    let theirs = || {
        let run = Command::new("rt-app").arg(&file).output().expect("rt-app starts");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        // A line for each loop, below two of heading.
        let loops = |log: &str| {
            let text = std::fs::read_to_string(scratch.path(log)).expect("rt-app writes a log");
            text.lines().filter(|line| !line.starts_with('#')).count() as f64
        };
        share(loops("rt-fast-0.log"), loops("rt-slow-1.log"))
    };
    if Command::new("rt-app").arg("--version").output().is_err() {
        println!(
            "skipped the comparison in cpu_shares_are_those_of_rt_app: rt-app is not installed (apt-get install rt-app)"
        );
    } else if agreed(own, theirs).is_none() {
        println!(
            "skipped the comparison in cpu_shares_are_those_of_rt_app: the hypervisor took time in each of five trials"
        );
    }
}

#[test]
fn two_threads_that_sync_take_turns_and_neither_takes_its_own_signal() {
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "ping": {"lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 20},
        "pong": {"lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 10}}}"#;
    let document = run(&Scratch::new(), text, &[]);
    let (ping, pong) = (metric(&document, "ping.loops"), metric(&document, "pong.loops"));
    assert!(ping >= 100.0 && (ping - pong).abs() <= 1.0, "{ping} and {pong}");
}

#[test]
fn one_signal_ends_one_wait_however_many_wait() {
    // 40 waiters are more than a futex can tell apart. Each signal lets one of them go on to its end.
    let text = r#"{"tasks": {
        "waiter": {"instance": 40, "loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m"},
        "waker": {"loop": 40, "delay": 200000, "lock": "m", "signal": "c", "unlock": "m"}}}"#;
    let document = run(&Scratch::new(), text, &[]);
    assert_eq!(metric(&document, "waiter.loops"), 40.0);
}

#[test]
fn sleeping_for_no_time_is_a_sleep() {
    let text = r#"{"tasks": {"t": {"loop": 300, "run": 1, "sleep": 0}}}"#;
    let document = run(&Scratch::new(), text, &[]);
    let voluntary = document["counters"]["voluntary_switches"].as_u64();
    assert!(voluntary >= Some(300), "{document}");
}
