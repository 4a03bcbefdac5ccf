//! `schedload rt-app` runs files of rt-app on the kernel of this machine.

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
    let metric = metrics.iter().find(|metric| metric["name"] == name);
    metric.and_then(|metric| metric["value"].as_f64()).unwrap_or_else(|| panic!("{name} in {document}"))
}

#[test]
fn every_event_is_performed() {
    let text = r#"{"global": {"mem_buffer_size": 8192, "io_device": "/dev/null"}, "tasks": {
        "a": {"loop": 3, "run": 10, "runtime": 20, "sleep": 10, "mem": 5000, "iorun": 20000, "yield": "",
              "memrun": {"type": "chase", "size": 65536, "count": 10}, "barrier": "b",
              "timer": {"ref": "unique", "period": 1000}, "sem_post": "s",
              "lock": "m", "sync": {"ref": "turn", "mutex": "m"}, "signal": "turn", "unlock": "m",
              "fork": "child", "policy": "SCHED_BATCH", "priority": 3},
        "b": {"loop": 3, "barrier": "b", "sem_wait": "s", "sleep": 2000, "resume": "c",
              "lock": "m", "sync": {"ref": "turn", "mutex": "m"}, "broad": "turn", "unlock": "m"},
        "c": {"loop": 2, "suspend": "c"},
        "child": {"instance": 0, "loop": 2, "run": 5, "timer": {"ref": "unique", "period": 100, "mode": "absolute"}}
    }}"#;
    let scratch = Scratch::new();
    // No task is named `turn`: a task's `suspend` waits for the condition with the task's name, so a signal to that
    // condition may wake either waiter.
    let document = run(&scratch, text, &["--duration", "1"]);
    assert_eq!((metric(&document, "a.loops"), metric(&document, "b.loops")), (3.0, 3.0), "{document}");
    let timers = metric(&document, "child.missed") + metric(&document, "a.missed");
    assert!(timers <= 9.0, "3 of `a` and 2 for each of its 3 children: {document}");
    assert!(metric(&document, "child.loops") >= 2.0, "{document}");
    assert!((0.9..100.0).contains(&metric(&document, "time")), "{document}");
}

#[test]
fn phases_end_by_their_loops_and_are_counted() {
    let text = r#"{"tasks": {"t": {"instance": 2, "loop": 2, "phases": {
        "light": {"loop": 3, "run": 10, "timer": {"ref": "unique", "period": 500}},
        "heavy": {"loop": 2, "run": 100, "timer": {"ref": "unique", "period": 500}}}}}}"#;
    let scratch = Scratch::new();
    let document = run(&scratch, text, &[]);
    assert_eq!(metric(&document, "t.loops"), 20.0);
    // Each thread has ten periods of 0.5 ms.
    assert!(metric(&document, "time") >= 0.005, "{document}");
}

#[test]
fn the_duration_ends_a_task_that_waits_forever() {
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
fn more_memory_than_available_is_refused_before_the_start() {
    let text = r#"{"global": {"mem_buffer_size": 900000000000000}, "tasks": {"t": {"loop": 1, "mem": 900000000000000}}}"#;
    let scratch = Scratch::new();
    let file = scratch.file("large.json", text);
    let refused = output(&mut Family::new().schedload(&["rt-app", &file]));
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("MiB are available"), "{}", stderr(&refused));
}

#[test]
fn a_setting_that_the_kernel_refuses_fails_the_task() {
    let text = r#"{"tasks": {"t": {"loop": 1, "run": 1, "cpus": [1023]}}}"#;
    let scratch = Scratch::new();
    let file = scratch.file("cpus.json", text);
    let refused = output(&mut Family::new().schedload(&["rt-app", &file]));
    assert_eq!(refused.status.code(), Some(1));
    let text = stderr(&refused);
    assert!(text.contains("t 0") && text.contains("1023"), "{text}");
}

#[test]
fn the_shown_program_is_equivalent_to_the_file() {
    let scratch = Scratch::new();
    let file = scratch.file("w.json", r#"{"tasks": {"t": {"loop": 4, "run": 1, "priority": 2}}}"#);
    let shown = success(&mut Family::new().schedload(&["rt-app", "--show", &file]));
    let program = scratch.file("program.json", &shown);
    let document = json(&mut Family::new().schedload(&["--json", "run", &program]));
    assert_eq!(metric(&document, "t.loops"), 4.0);
}

/// Two threads that compete for one CPU, with nice values 1 and 6: weights 820 and 272 (`sched_prio_to_weight` of the
/// kernel), so 75.1 % and 24.9 % of the CPU. Neither nice value is 0, because rt-app does not apply 0 to a thread.
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

/// Return the CPU share of the first of two threads with the same work per loop.
fn share(fast: f64, slow: f64) -> f64 {
    fast / (fast + slow)
}

/// Return the share that a trial measures, which must lie within 0.05 of the expected share. The kernel charges stolen
/// time to the thread on the CPU, so a trial with stolen time that disagrees is repeated. The result is `None` after five such
/// trials.
fn agreed(expected: f64, mut trial: impl FnMut() -> f64) -> Option<f64> {
    (0..5).find_map(|_| {
        let before = stolen_ticks(0);
        let measured = trial();
        let agrees = (measured - expected).abs() < 0.05;
        // Two ticks of 10 ms move a share of 2 s by less than 0.01.
        assert!(
            agrees || stolen_ticks(0) - before > 2,
            "{expected:.3} of the CPU was expected, not {measured}, with no time stolen"
        );
        agrees.then_some(measured)
    })
}

#[test]
#[ignore = "compares with this machine's kernel: make verify"]
#[allow(clippy::print_stdout, reason = "a test that cannot run completely prints a message")]
fn cpu_shares_are_those_of_rt_app() {
    let scratch = Scratch::new();
    let file = competition(&scratch);
    let ours = || {
        let document = json(&mut Family::new().schedload(&["--json", "rt-app", &file]));
        share(metric(&document, "fast.loops"), metric(&document, "slow.loops"))
    };
    let Some(schedload_share) = agreed(0.751, ours) else {
        println!("skipped cpu_shares_are_those_of_rt_app: the hypervisor took time in each of five trials");
        return;
    };
    let theirs = || {
        let run = Command::new("rt-app").arg(&file).output().expect("rt-app starts");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        // The log contains one line per loop below two lines of heading.
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
    } else if agreed(schedload_share, theirs).is_none() {
        println!(
            "skipped the comparison in cpu_shares_are_those_of_rt_app: the hypervisor took time in each of five trials"
        );
    }
}

#[test]
fn two_threads_that_sync_take_turns_and_neither_receives_its_own_signal() {
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "ping": {"lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 20},
        "pong": {"lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 10}}}"#;
    let document = run(&Scratch::new(), text, &[]);
    let (ping, pong) = (metric(&document, "ping.loops"), metric(&document, "pong.loops"));
    assert!(ping >= 100.0 && (ping - pong).abs() <= 1.0, "{ping} and {pong}");
}

#[test]
fn each_signal_ends_one_of_many_waits() {
    // 40 waiters exceed the 32 bits by which a futex distinguishes waiters. Each signal lets one waiter finish.
    // A signal before all 40 threads wait is lost: the delay is far longer than their start on a busy machine.
    let text = r#"{"tasks": {
        "waiter": {"instance": 40, "loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m"},
        "waker": {"loop": 40, "delay": 3000000, "lock": "m", "signal": "c", "unlock": "m"}}}"#;
    let document = run(&Scratch::new(), text, &[]);
    assert_eq!(metric(&document, "waiter.loops"), 40.0);
}

#[test]
fn sleeping_for_zero_time_is_a_sleep() {
    let text = r#"{"tasks": {"t": {"loop": 300, "run": 1, "sleep": 0}}}"#;
    let document = run(&Scratch::new(), text, &[]);
    let voluntary = document["counters"]["voluntary_switches"].as_u64();
    // Without sleeps there are a few switches, at the start and the end. A sleep lasts for the timer's slack of 50 µs. On a
    // machine whose hypervisor takes the CPU meanwhile, some timers expire before the task has switched.
    assert!(voluntary >= Some(30), "{document}");
}
