//! Simulation of rt-app workloads.

use schedlab_sim::{Config, Outcome, SimError, Simulation, kernel, machine};
use schedlab_workload::{Plan, rtapp};

fn simulate(text: &str, kernel_name: &str) -> Result<Outcome, SimError> {
    let reading = rtapp::read("test", text, None).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(reading.program).expect("a reading has been checked");
    let config = Config { horizon_ns: Some(20_000_000_000), ..Config::default() };
    Simulation::new(machine("laptop-4").unwrap(), kernel(kernel_name).unwrap(), plan, config)?.run()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    let measured = outcome.metrics.iter().find(|metric| metric.name == name);
    measured.and_then(|metric| metric.value).unwrap_or_else(|| panic!("{name} in {:?}", outcome.metrics))
}

#[test]
fn tasks_share_a_cpu_by_the_weights_of_their_nice_values() {
    // Weights 1024 and 335 (`sched_prio_to_weight` of the kernel): 75.3 % for the first.
    let text = r#"{"global": {"duration": 3}, "tasks": {
        "fast": {"cpus": [1], "run": 500}, "slow": {"cpus": [1], "priority": 5, "run": 500}}}"#;
    for kernel_name in ["linux-5.14", "linux-6.12"] {
        let outcome = simulate(text, kernel_name).unwrap();
        let (fast, slow) = (metric(&outcome, "fast.loops"), metric(&outcome, "slow.loops"));
        let share = fast / (fast + slow);
        assert!((share - 0.753).abs() < 0.02, "{kernel_name}: {share}");
        assert!((metric(&outcome, "time") - 3.0).abs() < 0.01, "the duration ends the run");
    }
}

#[test]
fn timers_keep_their_period_independently_of_the_preceding_run() {
    let text = r#"{"tasks": {"t": {"loop": 100, "run": 3000, "timer": {"ref": "unique", "period": 10000}}}}"#;
    let outcome = simulate(text, "linux-6.12").unwrap();
    assert_eq!((metric(&outcome, "t.loops"), metric(&outcome, "t.missed")), (100.0, 0.0));
    assert!((metric(&outcome, "time") - 1.0).abs() < 0.001);
    let slack = metric(&outcome, "t.slack_p50");
    assert!(
        (6_800.0..7_000.0).contains(&slack),
        "10 ms minus 3 ms of run and the cost of the wake-up: {slack} us"
    );
    // The latency includes the default timer slack of 50 us (prctl(2), PR_SET_TIMERSLACK).
    let wakeup = metric(&outcome, "t.wakeup_p50");
    assert!((50.0..500.0).contains(&wakeup), "{wakeup} us");
}

#[test]
fn a_real_time_task_keeps_ordinary_tasks_off_its_cpu() {
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "rt": {"cpus": [0], "policy": "SCHED_FIFO", "runtime": 320},
        "other": {"cpus": [0], "delay": 100000, "run": 100}}}"#;
    let outcome = simulate(text, "linux-6.12").unwrap();
    assert!(metric(&outcome, "rt.work") > 0.9, "{:?}", outcome.metrics);
    assert!(metric(&outcome, "other.work") < 0.01, "{:?}", outcome.metrics);
}

#[test]
fn tasks_drive_each_other_by_conditions_and_suspension() {
    let text = r#"{"tasks": {
        "master": {"loop": 1, "phases": {"start": {"sleep": 1000}, "main": {"loop": 8,
            "lock": "m", "run": 10, "signal": "q", "run": 10, "unlock": "m", "run": 100, "resume": "slave",
            "timer": {"ref": "tick", "period": 2000}}}},
        "slave": {"loop": 3, "lock": "m", "wait": {"ref": "q", "mutex": "m"}, "unlock": "m", "run": 10,
            "suspend": "slave", "run": 10}}}"#;
    let outcome = simulate(text, "linux-5.14").unwrap();
    assert_eq!((metric(&outcome, "master.loops"), metric(&outcome, "slave.loops")), (9.0, 3.0));
}

#[test]
fn a_phase_moves_its_task_to_the_cpus_of_the_phase() {
    let text = r#"{"tasks": {"t": {"loop": 10, "phases": {
        "one": {"cpus": [0], "run": 100}, "two": {"cpus": [3], "priority": 4, "run": 100}, "three": {"run": 100}}}}}"#;
    let outcome = simulate(text, "linux-6.12").unwrap();
    assert_eq!(metric(&outcome, "t.loops"), 30.0);
}

#[test]
fn two_tasks_that_sync_on_one_cpu_switch_as_often_as_under_a_real_kernel() {
    // One turn of both tasks: the woken task preempts the signaller, finds the lock taken, and sleeps. The release of the
    // lock preempts the signaller again. When the signaller continues, it has been signalled and does not sleep. rt-app on
    // Linux 6.18, 2576 turns: 2.02 voluntary and 2.02 involuntary switches per turn.
    let text = r#"{"global": {"duration": 1}, "tasks": {
        "ping": {"cpus": [0], "lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 200},
        "pong": {"cpus": [0], "lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 100}}}"#;
    let outcome = simulate(text, "linux-6.12").unwrap();
    let turns = metric(&outcome, "ping.loops");
    assert!((metric(&outcome, "pong.loops") - turns).abs() <= 1.0);
    let counters = &outcome.counters;
    for (name, count) in [("voluntary", counters.voluntary), ("preemptions", counters.preemptions)] {
        let each = count as f64 / turns;
        assert!((each - 2.0).abs() < 0.05, "{name}: {each} a turn, {turns} turns");
    }
}

#[test]
fn a_task_that_is_never_resumed_is_reported_as_a_deadlock() {
    let text = r#"{"tasks": {"t": {"loop": 1, "suspend": ""}}}"#;
    let error = simulate(text, "linux-6.12").unwrap_err().to_string();
    assert!(error.contains("deadlock") && error.contains("condition `t`"), "{error}");
}

#[test]
fn unsupported_attributes_are_refused() {
    let group = r#"{"tasks": {"t": {"loop": 1, "run": 1, "taskgroup": "/tg"}}}"#;
    assert!(simulate(group, "linux-6.12").unwrap_err().to_string().contains("task groups"));
    let cpu = r#"{"tasks": {"t": {"loop": 1, "run": 1, "cpus": [400]}}}"#;
    assert!(simulate(cpu, "linux-6.12").unwrap_err().to_string().contains("CPU 400"));
}
