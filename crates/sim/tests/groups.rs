//! Control groups: shares by weight, bandwidth control, CPU sets and changes at run time.

use std::collections::BTreeMap;

use schedlab_sim::observe::GroupReport;
use schedlab_sim::{
    Attributes, Config, ControlGroup, GroupSettings, Outcome, Simulation, kernel, kernel_names, machine,
};
use schedlab_workload::Plan;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::kernbench::Kernbench;
use schedlab_workload::library::pgbench::{Pgbench, Script};
use schedlab_workload::library::tbench::Tbench;
use schedlab_workload::program::{
    Expr, Mode, Op, Program, Quantity, Window, compute, count, group, higher, within_window,
};

const MS: u64 = 1_000_000;
const CPUS: u64 = 4;

/// Kernel models with each policy, and with each way of throttling.
const KERNELS: [&str; 3] = ["linux-5.14", "linux-6.12", "linux-6.18"];

/// Tasks of a program and the control group in which they run.
type Part<'a> = (&'a str, u32, Vec<Op>);

fn hog() -> Vec<Op> {
    vec![within_window(vec![compute(MS), count("turns", 1u64)])]
}

/// Run for `busy` of each `period`.
fn periodic(busy: u64, period: u64) -> Vec<Op> {
    vec![within_window(vec![compute(busy), Op::Sleep { ns: Expr::from(period - busy) }])]
}

fn settings(texts: &[(&str, &str)]) -> GroupSettings {
    let mut settings = GroupSettings::default();
    texts.iter().for_each(|(file, text)| settings.set(file, text, CPUS as usize).unwrap());
    settings
}

fn control(name: &str, texts: &[(&str, &str)]) -> ControlGroup {
    ControlGroup { name: name.to_owned(), settings: settings(texts), changes: Vec::new() }
}

/// Simulate parts on four CPUs for `ms` milliseconds.
fn simulate(model: &str, ms: u64, parts: &[Part<'_>], control_groups: Vec<ControlGroup>) -> Outcome {
    let named = |(at, (_, count, body)): (usize, &Part<'_>)| {
        group(&format!("part{at}"), *count, Mode::Process, body.clone())
    };
    let program = Program {
        seed: 1,
        window: Some(Window::new(0, ms * MS).unwrap()),
        counters: vec!["turns".to_owned()],
        metrics: vec![higher("turns", "1/s", Quantity::Rate("turns".to_owned()), 1.0)],
        groups: parts.iter().enumerate().map(named).collect(),
        ..Program::named("groups")
    };
    run(model, program, parts.iter().map(|part| part.0), control_groups)
}

fn run<'a>(
    model: &str,
    program: Program,
    members: impl Iterator<Item = &'a str>,
    control_groups: Vec<ControlGroup>,
) -> Outcome {
    let attributes = |name: &str| Attributes {
        control_group: (!name.is_empty()).then(|| name.to_owned()),
        ..Attributes::default()
    };
    let of_parts = program.groups.iter().map(|group| group.name.clone()).zip(members.map(attributes));
    let groups: BTreeMap<_, _> = of_parts.collect();
    let schedstats = vec![("kernel.sched_schedstats".to_owned(), 1)];
    let main = groups.values().next().cloned().unwrap();
    let config = Config { groups, control_groups, main, tunables: schedstats, ..Config::default() };
    let plan = Plan::new(program).unwrap();
    Simulation::new(machine("laptop-4").unwrap(), kernel(model).unwrap(), plan, config)
        .unwrap()
        .run()
        .unwrap()
}

fn of<'a>(outcome: &'a Outcome, name: &str) -> &'a GroupReport {
    outcome.groups.iter().find(|group| group.name == name).unwrap()
}

/// Part of the CPUs' time that a group used.
fn part(outcome: &Outcome, name: &str) -> f64 {
    of(outcome, name).usage_ns as f64 / (CPUS * outcome.end_ns) as f64
}

fn assert_near(value: f64, expected: f64, within: f64, what: &str) {
    assert!((value - expected).abs() <= within, "{what}: {value:.4}, expected {expected:.4}");
}

#[test]
fn groups_share_the_cpus_by_weight() {
    for model in KERNELS {
        for tasks in [4, 8] {
            let groups = vec![control("a", &[("cpu.weight", "100")]), control("b", &[("cpu.weight", "300")])];
            let outcome = simulate(model, 4000, &[("a", tasks, hog()), ("b", tasks, hog())], groups);
            assert_near(part(&outcome, "a"), 0.25, 0.01, &format!("{model}, {tasks} tasks each"));
            assert_near(part(&outcome, "b"), 0.75, 0.01, &format!("{model}, {tasks} tasks each"));
        }
    }
}

#[test]
fn an_idle_group_leaves_its_share_to_the_others() {
    for model in KERNELS {
        let groups = || vec![control("a", &[("cpu.weight", "1")]), control("b", &[("cpu.weight", "10000")])];
        let alone = simulate(model, 1000, &[("a", 4, hog()), ("b", 1, periodic(MS, 100 * MS))], groups());
        assert!(part(&alone, "a") > 0.97, "{model}: {}", part(&alone, "a"));
        let none = simulate(model, 1000, &[("a", 4, hog())], groups());
        assert!(part(&none, "a") > 0.98, "{model}: {}", part(&none, "a"));
        assert_eq!(of(&none, "b"), &GroupReport { name: "b".to_owned(), ..GroupReport::default() });
    }
}

#[test]
fn tasks_outside_of_the_groups_compete_as_a_group_of_a_session() {
    // Under autogroup the tasks of the session have together the weight of a group.
    let groups = vec![control("a", &[("cpu.weight", "100")])];
    let outcome = simulate("linux-6.12", 2000, &[("a", 4, hog()), ("", 8, hog())], groups);
    assert_near(part(&outcome, "a"), 0.5, 0.02, "share beside a session");
}

#[test]
fn a_quota_limits_the_run_time_in_each_period() {
    for model in KERNELS {
        for hogs in [1, 2, 4] {
            let outcome = simulate(
                model,
                2000,
                &[("a", hogs, hog())],
                vec![control("a", &[("cpu.max", "50000 100000")])],
            );
            let group = of(&outcome, "a");
            let periods = outcome.end_ns.div_ceil(100 * MS);
            let most = 50 * MS * (periods + 1) + CPUS * 5 * MS;
            assert!(group.usage_ns <= most, "{model}, {hogs} hogs: {group:?}");
            assert!(group.usage_ns >= 48 * MS * (periods - 1), "{model}, {hogs} hogs: {group:?}");
            assert!(group.nr_periods.abs_diff(periods) <= 1, "{model}, {hogs} hogs: {group:?}");
            assert!(group.nr_throttled + 1 >= group.nr_periods, "{model}, {hogs} hogs: {group:?}");
            // Each hog has a CPU, and cannot run while it does not use the quota.
            let stopped = u64::from(hogs) * outcome.end_ns - group.usage_ns;
            let error = group.throttled_ns.abs_diff(stopped) as f64 / stopped as f64;
            assert!(error < 0.06, "{model}, {hogs} hogs: {group:?}, {stopped} ns without a run");
        }
    }
}

#[test]
fn a_quota_that_suffices_throttles_nothing() {
    for model in KERNELS {
        let limited = || vec![control("a", &[("cpu.max", "50000 100000")])];
        let outcome = simulate(model, 2000, &[("a", 1, periodic(2 * MS, 10 * MS))], limited());
        let group = of(&outcome, "a");
        assert_eq!((group.nr_throttled, group.throttled_ns), (0, 0), "{model}: {group:?}");
        assert!(group.nr_periods >= 19, "{model}: {group:?}");
    }
}

#[test]
fn messages_go_on_under_a_quota() {
    for model in KERNELS {
        let hackbench =
            Hackbench { groups: 1, fds: 4, loops: 2000, channel: Carrier::Pipe, ..Hackbench::default() };
        let program = hackbench.program().unwrap();
        let members = vec!["a"; program.groups.len()];
        let run = |max| {
            run(model, program.clone(), members.clone().into_iter(), vec![control("a", &[("cpu.max", max)])])
        };
        let (free, limited) = (run("max 10000"), run("4000 10000"));
        assert!(limited.end_ns > free.end_ns, "{model}: {} and {} ns", limited.end_ns, free.end_ns);
        assert!(of(&limited, "a").nr_throttled > 0, "{model}: {:?}", limited.groups);
        let most = limited.end_ns / 10 * 4 + 4 * MS + CPUS * 5 * MS;
        assert!(of(&limited, "a").usage_ns <= most, "{model}: {:?}", limited.groups);
        assert!(of(&limited, "a").throttled_ns > 0, "{model}: {:?}", limited.groups);
    }
}

#[test]
fn programs_that_fork_exec_and_lock_end_in_limited_groups() {
    let kernbench = Kernbench { jobs: 6, directories: 2, files: 4, memory_kib: 256, ..Kernbench::default() };
    let pgbench = Pgbench {
        clients: 6,
        mode: Script::ReadWrite,
        buffers_mib: 16,
        warmup_ns: MS,
        duration_ns: 100 * MS,
        ..Pgbench::default()
    };
    let tbench = Tbench { clients: 5, warmup_ns: MS, duration_ns: 100 * MS, ..Tbench::default() };
    for model in KERNELS {
        for program in [kernbench.program(), pgbench.program(), tbench.program()] {
            let program = program.unwrap();
            // The groups of the program alternate between two control groups.
            let members: Vec<_> = (0..program.groups.len()).map(|at| ["a", "b"][at % 2]).collect();
            let mut groups = vec![
                control("a", &[("cpu.max", "10000 20000"), ("cpuset.cpus", "0-2")]),
                control("b", &[("cpu.max", "5000 10000"), ("cpu.weight", "30")]),
            ];
            groups[0].changes.push((30 * MS, settings(&[("cpuset.cpus", "1"), ("cpu.max", "max 20000")])));
            groups[1].changes.push((40 * MS, settings(&[("cpuset.cpus", "2-3"), ("cpu.weight", "500")])));
            let outcome = run(model, program, members.into_iter(), groups);
            assert!(of(&outcome, "a").usage_ns > 0, "{model}: {:?}", outcome.groups);
        }
    }
}

#[test]
fn a_cpuset_keeps_the_tasks_on_its_cpus() {
    for model in KERNELS {
        let groups = vec![control("a", &[("cpuset.cpus", "0-1")])];
        let outcome = simulate(model, 1000, &[("a", 4, hog())], groups);
        assert_near(part(&outcome, "a"), 0.5, 0.01, model);
    }
}

#[test]
fn settings_change_while_the_tasks_run() {
    for model in KERNELS {
        for (before, after, halves) in [
            (("cpu.max", "max 100000"), ("cpu.max", "100000 100000"), (1.0, 0.25)),
            (("cpu.max", "100000 100000"), ("cpu.max", "max 100000"), (0.25, 1.0)),
            (("cpuset.cpus", "0-3"), ("cpuset.cpus", "2"), (1.0, 0.25)),
            (("cpuset.cpus", "2"), ("cpuset.cpus", "0-3"), (0.25, 1.0)),
        ] {
            let mut group = control("a", &[before]);
            group.changes.push((1000 * MS, settings(&[after])));
            let parts = [("a", 4, hog()), ("a", 4, periodic(MS, 10 * MS))];
            let outcome = simulate(model, 2000, &parts, vec![group]);
            let expected = f64::midpoint(halves.0, halves.1);
            assert_near(part(&outcome, "a"), expected, 0.03, &format!("{model}, {before:?} then {after:?}"));
        }
    }
}

#[test]
fn weights_change_while_the_tasks_run() {
    for model in KERNELS {
        let (mut a, b) = (control("a", &[("cpu.weight", "100")]), control("b", &[]));
        a.changes.push((1000 * MS, settings(&[("cpu.weight", "300")])));
        let outcome = simulate(model, 2000, &[("a", 4, hog()), ("b", 4, hog())], vec![a, b]);
        assert_near(part(&outcome, "a"), 0.625, 0.02, model);
    }
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    for model in KERNELS {
        let outcome = || {
            let groups = vec![
                control("a", &[("cpu.max", "30000 50000"), ("cpu.weight", "50")]),
                control("b", &[("cpuset.cpus", "1-3")]),
            ];
            let parts = [("a", 6, periodic(3 * MS, 7 * MS)), ("b", 5, hog()), ("", 2, periodic(MS, 5 * MS))];
            simulate(model, 500, &parts, groups)
        };
        assert_eq!(outcome(), outcome(), "{model}");
    }
}

#[test]
fn a_kernel_without_cgroup_v2_refuses_groups() {
    let hackbench = Hackbench { groups: 1, fds: 1, loops: 1, ..Hackbench::default() };
    let plan = Plan::new(hackbench.program().unwrap()).unwrap();
    for name in kernel_names() {
        let config = Config { control_groups: vec![control("a", &[])], ..Config::default() };
        let made = Simulation::new(machine("laptop-4").unwrap(), kernel(name).unwrap(), plan.clone(), config);
        let has = !["linux-2.5.59", "linux-3.8", "linux-4.5"].contains(&name);
        assert_eq!(made.is_ok(), has, "{name}: {:?}", made.err());
    }
}

#[test]
fn wrong_settings_are_refused_with_the_reason() {
    for (file, text, reason) in [
        ("cpu.weight", "0", "not a weight from 1 to 10000"),
        ("cpu.weight", "10001", "not a weight from 1 to 10000"),
        ("cpu.max", "500 100000", "is not a quota from 1000"),
        ("cpu.max", "50000 2000000", "and a period from 1000 to 1000000"),
        ("cpuset.cpus", "4", "4"),
        ("cpu.uclamp.min", "20.00", "no capacity model"),
        ("cpu.idle", "1", "cpu.weight, cpu.max and cpuset.cpus"),
    ] {
        let refused = GroupSettings::default().set(file, text, CPUS as usize).unwrap_err();
        assert!(refused.contains(reason), "{file} = {text}: {refused}");
    }
}
