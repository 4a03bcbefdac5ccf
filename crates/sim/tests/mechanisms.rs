//! Mechanisms of a complete machine, compared with figures computed by hand.

use std::collections::BTreeMap;

use schedlab_sim::machine::Distance;
use schedlab_sim::{
    Account, Attributes, Change, Class, Config, CpuMask, End, Machine, Outcome, SimError, Simulation, kernel,
    machine,
};
use schedlab_workload::Plan;
use schedlab_workload::library::forkstorm::Forkstorm;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::kernbench::Kernbench;
use schedlab_workload::program::{
    Attributes as Wanted, ChannelKind, Direction, Expr, Mode, Op, Policy, Program, Quantity, Resources,
    Scope, Take, TaskGroup, TimerMode, Window, at, await_reply, channels, compute, count, down, fork, group,
    higher, lap, locked, locks, receive, receive_by, record, reply, semaphores, send, slots, stamp, times,
    up, within_window,
};

const MS: u64 = 1_000_000;

fn program(groups: Vec<TaskGroup>, resources: Resources, window_ms: u64) -> Program {
    Program {
        window: (window_ms > 0).then(|| Window::new(0, window_ms * MS).unwrap()),
        resources,
        counters: vec!["turns".to_owned()],
        series: vec!["time".to_owned()],
        groups,
        metrics: vec![higher("turns", "1/s", Quantity::Rate("turns".to_owned()), 1.0)],
        ..Program::named("test")
    }
}

fn hogs(names: &[&str], window_ms: u64) -> Program {
    let body = || vec![within_window(vec![compute(100_000u64), count("turns", 1u64)])];
    let groups = names.iter().map(|name| group(name, 1, Mode::Process, body())).collect();
    program(groups, Resources::default(), window_ms)
}

fn run(machine_name: &str, kernel_name: &str, program: Program, config: Config) -> Outcome {
    try_run(machine_name, kernel_name, program, config).unwrap()
}

fn try_run(
    machine_name: &str,
    kernel_name: &str,
    program: Program,
    config: Config,
) -> Result<Outcome, SimError> {
    let plan = Plan::new(program)?;
    Simulation::new(machine(machine_name)?, kernel(kernel_name)?, plan, config)?.run()
}

fn on_cpu(cpu: usize) -> Attributes {
    Attributes { cpus: Some([cpu].into_iter().collect()), ..Attributes::default() }
}

fn attributes<const N: usize>(groups: [(&str, Attributes); N]) -> Config {
    let groups: BTreeMap<_, _> = groups.into_iter().map(|(name, each)| (name.to_owned(), each)).collect();
    Config { groups, ..Config::default() }
}

#[test]
fn tasks_share_a_cpu_by_the_weights_of_their_nice_values() {
    // 1024 to 335 (nice 5): 75.35 % and 24.65 %.
    for kernel_name in ["linux-4.5", "linux-5.14", "linux-6.12"] {
        let config = attributes([("a", on_cpu(1)), ("b", Attributes { nice: 5, ..on_cpu(1) })]);
        let outcome = run("laptop-4", kernel_name, hogs(&["a", "b"], 4000), config);
        let (a, b) = (outcome.tasks[0].ran_ns as f64, outcome.tasks[1].ran_ns as f64);
        let share = a / (a + b);
        assert!((share - 1024.0 / 1359.0).abs() < 0.01, "{kernel_name}: {share}");
    }
}

#[test]
fn idle_class_tasks_get_three_parts_of_a_thousand() {
    let idle = Attributes { class: Class::Idle, ..on_cpu(1) };
    let outcome =
        run("laptop-4", "linux-5.14", hogs(&["a", "b"], 4000), attributes([("a", on_cpu(1)), ("b", idle)]));
    let share = outcome.tasks[1].ran_ns as f64 / (outcome.tasks[0].ran_ns + outcome.tasks[1].ran_ns) as f64;
    // 3 / 1027 = 0.29 %, in turns of a tick.
    assert!((0.0005..0.01).contains(&share), "{share}");
}

#[test]
fn realtime_tasks_run_before_all_other_tasks_and_round_robin_takes_turns() {
    let rr = |priority| Attributes { class: Class::RoundRobin(priority), ..on_cpu(1) };
    let config = attributes([("a", rr(10)), ("b", rr(10)), ("c", on_cpu(1))]);
    let outcome = run("laptop-4", "linux-5.14", hogs(&["a", "b", "c"], 2000), config);
    let ran: Vec<f64> = outcome.tasks.iter().map(|task| task.ran_ns as f64 / 1e9).collect();
    // The two RR tasks share the window. Slices are 100 ms, so that no task is ahead by more than one slice. The
    // ordinary task waits.
    assert!((ran[0] - ran[1]).abs() <= 0.105 && ran[0] + ran[1] > 1.9, "{ran:?}");
    assert!(ran[2] < 0.05, "{ran:?}");
    let fifo = |priority| Attributes { class: Class::Fifo(priority), ..on_cpu(1) };
    let config = attributes([("a", fifo(10)), ("b", fifo(11)), ("c", fifo(10))]);
    let outcome = run("laptop-4", "linux-5.14", hogs(&["a", "b", "c"], 500), config);
    let ran: Vec<f64> = outcome.tasks.iter().map(|task| task.ran_ns as f64 / 1e9).collect();
    assert!(ran[1] > 0.49 && ran[0] < 0.05 && ran[2] < 0.05, "{ran:?}");
}

#[test]
fn realtime_tasks_that_wake_or_fork_at_once_spread_over_the_cpus() {
    // Four tasks that never sleep, on four CPUs, woken by one task: no task waits for another.
    for kernel_name in ["linux-5.14", "linux-6.12"] {
        let fifo = || Attributes { class: Class::Fifo(10), ..Attributes::default() };
        let names = ["a", "b", "c", "d"];
        let config = attributes(names.map(|name| (name, fifo())));
        let outcome = run("laptop-4", kernel_name, hogs(&names, 200), config);
        let ran: Vec<_> = outcome.tasks.iter().map(|task| task.ran_ns / MS).collect();
        assert!(ran.iter().all(|ms| *ms >= 195), "{kernel_name}: {ran:?}");
    }
    // Real-time jobs that a build forks are not more than a tenth slower than ordinary jobs.
    let build = Kernbench { directories: 4, files: 8, jobs: 12, ..Default::default() }.program().unwrap();
    let elapsed = |class| {
        let each = |group: &TaskGroup| (group.name.clone(), Attributes { class, ..Attributes::default() });
        let groups = build.groups.iter().map(each).collect();
        run("i7-3770", "linux-5.14", build.clone(), Config { groups, ..Config::default() })
            .observed
            .elapsed_ns
    };
    let (ordinary, realtime) = (elapsed(Class::Normal), elapsed(Class::RoundRobin(3)));
    assert!(realtime * 10 <= ordinary * 11, "{realtime} ns instead of {ordinary} ns");
}

#[test]
fn a_realtime_main_task_is_not_preempted_by_the_tasks_that_it_starts() {
    let fifo = || Attributes { class: Class::Fifo(10), ..on_cpu(1) };
    let preemptions = |main| {
        let config = Config { main, ..attributes([("a", fifo()), ("b", fifo())]) };
        run("laptop-4", "linux-6.12", hogs(&["a", "b"], 50), config).counters.preemptions
    };
    assert_eq!(preemptions(fifo()), 0);
    assert!(preemptions(on_cpu(1)) > 0);
}

/// CPUs whose real-time tasks sleep ask other CPUs for waiting tasks: no CPU idles beside a queue.
#[test]
fn cpus_that_become_free_get_waiting_realtime_tasks() {
    let program =
        Hackbench { groups: 2, loops: 20, channel: Carrier::Pipe, ..Hackbench::default() }.program().unwrap();
    let elapsed = |class| {
        let each = |group: &TaskGroup| (group.name.clone(), Attributes { class, ..Attributes::default() });
        let groups = program.groups.iter().map(each).collect();
        run("laptop-4", "linux-6.12", program.clone(), Config { groups, ..Config::default() })
            .observed
            .elapsed_ns
    };
    let (batch, fifo) = (elapsed(Class::Batch), elapsed(Class::Fifo(10)));
    assert!(fifo * 10 <= batch * 12, "{fifo} ns instead of {batch} ns");
}

#[test]
fn ledger_accounts_for_every_nanosecond_also_at_the_horizon() {
    for horizon_ns in [1, 1_000, 777_777, 5 * MS + 1, 100 * MS] {
        let config = Config { horizon_ns: Some(horizon_ns), ..Config::default() };
        let outcome = run("i7-3770", "linux-5.14", hogs(&["a", "b", "c"], 400), config);
        assert_eq!((outcome.end, outcome.end_ns), (End::Horizon, horizon_ns));
        for cpu in 0..8 {
            assert_eq!(outcome.ledger.cpu_total(cpu), horizon_ns, "CPU {cpu}");
        }
    }
}

#[test]
fn smt_siblings_slow_each_other_by_the_time_in_the_ledger() {
    // Alone on a core, 400 ms of work take 400 ms; next to a busy sibling the task runs at 62 %: 634 of 1024 parts.
    let body = vec![compute(400 * MS)];
    let alone = program(vec![group("a", 1, Mode::Process, body.clone())], Resources::default(), 0);
    let outcome = run("i7-3770", "linux-5.14", alone, attributes([("a", on_cpu(0))]));
    assert_eq!(outcome.ledger.total(Account::Smt), 0);
    let both = vec![group("a", 1, Mode::Process, body.clone()), group("b", 1, Mode::Process, body)];
    let outcome = run(
        "i7-3770",
        "linux-5.14",
        program(both, Resources::default(), 0),
        attributes([("a", on_cpu(0)), ("b", on_cpu(4))]),
    );
    // 1024 / 634 × 400 = 646 ms each. The sibling causes 246 ms of each: 492 ms in total.
    let smt = outcome.ledger.total(Account::Smt) as f64 / 1e6;
    assert!((smt - 492.0).abs() < 5.0, "{smt}");
    assert!(outcome.observed.elapsed_ns.abs_diff(646 * MS) < 5 * MS, "{}", outcome.observed.elapsed_ns);
}

#[test]
fn slowness_beside_a_busy_sibling_is_user_time() {
    let body = vec![times(1000u64, vec![compute(10_000u64), Op::Yield])];
    let both = vec![group("a", 1, Mode::Process, body.clone()), group("b", 1, Mode::Process, body)];
    let observed = |cpu| {
        let program = program(both.clone(), Resources::default(), 0);
        let cpus = attributes([("a", on_cpu(0)), ("b", on_cpu(cpu))]);
        run("i7-3770", "linux-5.14", program, cpus).observed
    };
    let (cores, siblings) = (observed(1), observed(4));
    assert!(cores.system_ns > MS / 10, "{cores:?}");
    assert!(siblings.system_ns.abs_diff(cores.system_ns) < cores.system_ns / 10, "{siblings:?}");
    // 2 × 10 ms of work, at 634 of 1024 parts.
    assert!(siblings.user_ns > cores.user_ns * 3 / 2, "{siblings:?} {cores:?}");
}

#[test]
fn newidle_balancing_is_skipped_when_the_cpu_idles_less_than_the_migration_cost() {
    // Tasks that run 300 µs and sleep 100 µs on four CPUs: the mean idleness is far below 500 µs, far above 0.
    let body = vec![within_window(vec![
        compute(Expr::random(200_000u64, 400_000u64)),
        Op::Sleep { ns: Expr::random(50_000u64, 150_000u64) },
    ])];
    let busy = || program(vec![group("task", 6, Mode::Process, body.clone())], Resources::default(), 300);
    let with = |cost: i64| {
        let tunables = vec![("sched.migration_cost_ns".to_owned(), cost)];
        run("laptop-4", "linux-5.14", busy(), Config { tunables, ..Config::default() })
    };
    let (default, never, always) = (with(500_000), with(-1), with(0));
    // avg_idle starts at twice the cost and falls by an eighth each time, so a few passes come first.
    assert!(default.counters.newidle_balance.calls < default.counters.newidle_skipped / 20);
    assert_eq!(never.counters.newidle_balance.calls, 0);
    assert!(never.counters.newidle_skipped > 100);
    assert!(always.counters.newidle_balance.calls > 100 * default.counters.newidle_balance.calls.max(1) / 10);
}

#[test]
fn migration_cost_of_minus_one_keeps_waiting_tasks_on_their_cpu() {
    // Nine tasks on four CPUs. Always cache-hot, a task moves only after repeated failed passes.
    let nine = || {
        let body = vec![within_window(vec![compute(100_000u64), Op::Sleep { ns: 30_000u64.into() }])];
        program(vec![group("task", 9, Mode::Process, body)], Resources::default(), 400)
    };
    let with = |cost: i64| {
        let tunables = vec![("sched.migration_cost_ns".to_owned(), cost)];
        run("laptop-4", "linux-5.14", nine(), Config { tunables, ..Config::default() })
    };
    let moved = |outcome: &Outcome| outcome.counters.balance_migrations.iter().sum::<u64>();
    let (never_hot, always_hot) = (with(0), with(-1));
    assert!(moved(&never_hot) > moved(&always_hot), "{} {}", moved(&never_hot), moved(&always_hot));
    let hot = |outcome: &Outcome| outcome.counters.busy_balance.hot + outcome.counters.newidle_balance.hot;
    assert_eq!(hot(&never_hot), 0);
}

#[test]
fn a_balancing_pass_costs_by_the_cpus_that_it_scans() {
    // On the laptop a pass takes 450 + 4 × 133 + 4 × 95 instructions of 0.318 ns for four groups of one CPU, and 30 ns for the queue
    // of the busy CPU: there is nothing to move.
    let cost = |name: &str, tasks: &[&str]| {
        let outcome = run(name, "linux-5.14", hogs(tasks, 2500), Config::default());
        outcome.histograms.balance_cost[0].clone()
    };
    let laptop = cost("laptop-4", &["a"]);
    assert_eq!((laptop.least_ns(), laptop.most_ns()), (Some(463), Some(463)));
    // On the NUMA-Q, with 2.8 ns for an instruction, a call takes 133 + 2 × 55 instructions or 680 ns if it leaves the pass to the second
    // CPU of the quad, and a pass 450 + 4 × 133 + 16 × 95 instructions or 7005 ns over all CPUs, 2500 for a moved task, and for each
    // busy CPU's queue 250 in the quad and 2500 elsewhere.
    let names: Vec<String> = (0..16).map(|task| format!("t{task}")).collect();
    let numa_q = cost("numa-q-16", &names.iter().map(String::as_str).collect::<Vec<_>>());
    let (least, most) = (numa_q.least_ns().unwrap(), numa_q.most_ns().unwrap());
    assert_eq!(least, 680);
    assert!(most >= 7005 && (most - 7005) % 250 == 0, "{most}");
}

#[test]
fn isolated_cpu_without_ticks_is_not_disturbed() {
    let config =
        Config { command_line: "isolcpus=3 nohz_full=3".to_owned(), ..attributes([("a", on_cpu(3))]) };
    let outcome = run("laptop-4", "linux-5.14", hogs(&["a"], 5000), config);
    // After the gate the CPU spends 5 s on the task's work only.
    assert_eq!(outcome.ledger.of(3, Account::Tick), 0);
    assert_eq!(outcome.ledger.of(3, Account::Balance), 0);
    let config = attributes([("a", on_cpu(3))]);
    let outcome = run("laptop-4", "linux-5.14", hogs(&["a"], 5000), config);
    // 250 ticks a second of 1200 ns.
    let ticks = outcome.ledger.of(3, Account::Tick) / 1200;
    assert!(ticks.abs_diff(1250) <= 2, "{ticks}");
}

#[test]
fn tasks_do_not_run_on_an_isolated_cpu_unless_bound_to_it() {
    let config = Config { command_line: "isolcpus=1-2".to_owned(), ..Config::default() };
    let outcome = run("laptop-4", "linux-5.14", hogs(&["a", "b", "c", "d", "e", "f"], 200), config);
    for cpu in [1, 2] {
        assert_eq!(outcome.ledger.of(cpu, Account::Idle), outcome.end_ns, "CPU {cpu}");
    }
}

#[test]
fn tunables_change_while_the_machine_runs() {
    // CFS turns of two hogs: 18 / 2 = 9 ms on four CPUs, ended by 4 ms ticks; from the middle on 100 ms × 0.5 = 50 ms.
    let change = |value| Change { at_ns: 1000 * MS, tunable: "sched.latency_ns".to_owned(), value };
    let config = || attributes([("a", on_cpu(1)), ("b", on_cpu(1))]);
    let plain = run("laptop-4", "linux-5.14", hogs(&["a", "b"], 2000), config());
    let changed = run(
        "laptop-4",
        "linux-5.14",
        hogs(&["a", "b"], 2000),
        Config { changes: vec![change(100 * MS as i64)], ..config() },
    );
    let turns = |outcome: &Outcome| outcome.tasks.iter().map(|task| task.switches.1).sum::<u64>();
    // 2 s / 12 ms = 167 turns; 1 s / 12 ms + 1 s / 52 ms = 103.
    assert!(turns(&plain).abs_diff(167) < 12, "{}", turns(&plain));
    assert!(turns(&changed).abs_diff(103) < 12, "{}", turns(&changed));
    assert_eq!(changed.counters.retunes, 1);
}

#[test]
fn sleep_lasts_at_most_the_timer_slack_longer_than_requested() {
    let body = vec![stamp("begun"), times(50u64, vec![Op::Sleep { ns: MS.into() }, lap("begun", "time")])];
    let resources = Resources { slots: vec![slots("begun", 1, Scope::Task)], ..Resources::default() };
    let outcome = run(
        "laptop-4",
        "linux-5.14",
        program(vec![group("a", 1, Mode::Process, body)], resources, 0),
        Config::default(),
    );
    let samples = &outcome.observed.series[0];
    assert_eq!(samples.len(), 50);
    // 1 ms + 50 µs of slack + a timer interrupt, an idle exit (50 µs), a switch and the system call.
    assert!(samples.iter().all(|ns| (MS..MS + 115_000).contains(ns)), "{samples:?}");
}

#[test]
fn messages_cost_more_the_farther_they_come() {
    let ping = |cpus: [usize; 2]| {
        let first = vec![
            stamp("turn"),
            times(200u64, vec![send("there", 4u64), receive("back", 4u64), lap("turn", "time")]),
        ];
        let second = vec![times(200u64, vec![receive("there", 4u64), send("back", 4u64)])];
        let pipe = |name| channels(name, ChannelKind::Pipe, 1);
        let resources = Resources {
            channels: vec![pipe("there"), pipe("back")],
            slots: vec![slots("turn", 1, Scope::Task)],
            ..Resources::default()
        };
        let groups = vec![group("a", 1, Mode::Process, first), group("b", 1, Mode::Process, second)];
        let config = attributes([("a", on_cpu(cpus[0])), ("b", on_cpu(cpus[1]))]);
        let outcome = run("kunpeng920", "linux-5.14", program(groups, resources, 0), config);
        let lines = outcome.ledger.total(Account::Messages);
        let mut samples = outcome.observed.series[0].clone();
        samples.sort_unstable();
        (samples[100], lines)
    };
    let (nearest, in_cluster) = ping([2, 3]);
    let (near, in_cache) = ping([2, 4]);
    let (socket, in_socket) = ping([2, 34]);
    let (far, across) = ping([2, 66]);
    assert!(nearest < near && near < socket && socket < far, "{nearest} {near} {socket} {far}");
    // A message of 4 bytes is a line and two of bookkeeping, for the reader, and but for the first message of each
    // direction also for the writer, whose lines the reader has taken: (400 + 398) × 3 × 37, 50, 90 and 200 ns.
    assert_eq!([in_cluster, in_cache, in_socket, across], [88_578, 119_700, 215_460, 478_800]);
}

#[test]
fn queued_messages_cost_more_when_the_caches_of_their_core_have_lost_them() {
    let on = |machine: Machine, sockets: u64, messages: u64, rounds: u64| {
        let each = |op: fn(&str, u64) -> Op| {
            (0..sockets).map(move |number| times(messages, vec![op(&format!("s{number}"), 100)]))
        };
        let turn =
            each(|name, bytes| send(name, bytes)).chain(each(|name, bytes| receive(name, bytes))).collect();
        let resources = Resources {
            channels: (0..sockets)
                .map(|number| channels(&format!("s{number}"), ChannelKind::Unix, 1))
                .collect(),
            ..Resources::default()
        };
        let groups = vec![group("a", 1, Mode::Process, vec![times(rounds, turn)])];
        let plan = Plan::new(program(groups, resources, 0)).unwrap();
        let simulation = Simulation::new(machine, kernel("linux-5.14").unwrap(), plan, Config::default());
        let outcome = simulation.unwrap().run().unwrap();
        assert_eq!(outcome.counters.messages, sockets * messages * rounds);
        outcome.ledger.total(Account::Messages) / outcome.counters.messages
    };
    let laptop = machine("laptop-4").unwrap();
    // Private caches of 256 KiB have room for 341 messages of 768 bytes, so that 200 messages fill fresh memory once. Writer and
    // reader of a lost message refill two lines of bytes at 42 ns for 16 lines, and five lines at 15 ns: 80 ns each.
    let [alone, some, all] = [(1, 1, 4000), (1, 200, 20), (20, 250, 4)]
        .map(|(sockets, messages, rounds)| on(laptop.clone(), sockets, messages, rounds));
    assert_eq!(alone, 0);
    assert!(some < 12, "{some}");
    assert!((124..=160).contains(&all), "{all}");
    // The last-level cache has the lines: no other core has written them.
    let with_line = |llc: u32, line: u32, refill: u32| {
        let mut machine = laptop.clone();
        (machine.costs.line.llc, machine.costs.llc_line, machine.costs.refill_kib.llc) = (llc, line, refill);
        on(machine, 20, 250, 4)
    };
    assert_eq!(with_line(300, 15, 42), all);
    let twice = with_line(30, 30, 84);
    assert!((2 * all..=2 * all + 4).contains(&twice), "{twice} and {all}");
}

#[test]
fn a_message_is_freed_once_although_two_readers_began_to_read_it() {
    const BYTES: u64 = 65_536;
    let lines = |second_offset: u64| {
        let until = |ns: u64| Op::Timer {
            timer: "turn".to_owned(),
            period_ns: ns.into(),
            mode: TimerMode::Absolute,
            slack: None,
            latency: None,
            missed: None,
        };
        let pause = |offset: u64, op: Op| vec![until(offset), op, until(MS - offset)];
        let pipe = |name: &str| channels(name, ChannelKind::Pipe, 1);
        // Both readers are on the core of the first. Each gets one of the two messages of a turn.
        let first = vec![send("pipe", BYTES), until(MS / 2), receive("pipe", BYTES), until(MS / 2)];
        let second = pause(MS / 2 + second_offset, receive("pipe", BYTES));
        let other = pause(MS * 4 / 5, send("pipe", BYTES));
        let queued = |op: fn(&str, u64) -> Op| (0..6).map(move |pipe| op(&format!("queued{pipe}"), BYTES));
        let queued_after: Vec<Op> = queued(|name, bytes| send(name, bytes))
            .chain(queued(|name, bytes| receive(name, bytes)))
            .collect();
        let turns = |body: Vec<Op>| times(8u64, body);
        let mut all = vec![turns(first)];
        all.extend(queued_after);
        let names = (0..6).map(|number| format!("queued{number}"));
        let resources = Resources {
            channels: names.map(|name| pipe(&name)).chain([pipe("pipe")]).collect(),
            timers: vec!["turn".to_owned()],
            ..Resources::default()
        };
        let groups = vec![
            group("a", 1, Mode::Process, all),
            group("b", 1, Mode::Process, vec![turns(second)]),
            group("c", 1, Mode::Process, vec![turns(other)]),
        ];
        let config = attributes([("a", on_cpu(0)), ("b", on_cpu(4)), ("c", on_cpu(1))]);
        let outcome = run("i7-3770", "linux-5.14", program(groups, resources, 0), config);
        (outcome.ledger.total(Account::Messages), outcome.ledger.total(Account::Syscall))
    };
    // The six queued messages are more than the private caches contain, so that their reader fetches them from the last-level
    // cache. If the messages before were freed twice, the six would use this memory.
    let (raced, apart) = (lines(0), lines(MS / 5));
    assert_eq!(raced.0, apart.0);
    assert!(raced.1 > apart.1 * 11 / 10, "a reader has read in vain: {raced:?}, {apart:?}");
}

/// Time to fetch lines of messages while CPU 0 writes ten messages, each of which another task answers by its `body` on a CPU.
fn lines_time(kind: ChannelKind, cpu: usize, body: Vec<Op>) -> u64 {
    lines_time_on("i7-3770", kind, cpu, body)
}

fn lines_time_on(machine_name: &str, kind: ChannelKind, cpu: usize, body: Vec<Op>) -> u64 {
    let resources = Resources {
        channels: vec![channels("queue", kind, 1)],
        semaphores: vec![semaphores("there", 1, Scope::Program, 0), semaphores("back", 1, Scope::Program, 0)],
        ..Resources::default()
    };
    let writes = vec![times(10u64, vec![send("queue", 64u64), up("there", 1u64), down("back")])];
    let groups = vec![group("a", 1, Mode::Process, writes), group("b", 1, Mode::Process, body)];
    let config = attributes([("a", on_cpu(0)), ("b", on_cpu(cpu))]);
    run(machine_name, "linux-6.12", program(groups, resources, 0), config).ledger.total(Account::Messages)
}

/// Two writers on different cores take the lines of a queue from each other: five of a pipe, seven of a Unix socket.
#[test]
fn a_write_after_another_cores_write_fetches_the_queues_lines() {
    let line = u64::from(machine("i7-3770").unwrap().costs.line.llc);
    for (kind, lines) in [(ChannelKind::Pipe, 5), (ChannelKind::Unix, 7)] {
        let fetched = |second: usize| {
            // The writes alternate. Nobody reads before the end.
            let alternating = times(10u64, vec![down("there"), send("queue", 64u64), up("back", 1u64)]);
            lines_time(kind, second, vec![alternating, receive("queue", 1280u64)])
        };
        // Writes 2 to 20 follow a write of the other core, and none does on one CPU. The rest of the difference is the read.
        let (apart, together) = (fetched(1), fetched(0));
        assert!(apart - together >= 19 * lines * line, "{kind:?}: {apart} and {together}");
        assert!(apart - together < 19 * lines * line + 60 * line, "{kind:?}: {apart} and {together}");
    }
}

/// A read that waits pays for its system call, also if it begins while its CPU is ahead of the simulation's clock, and once only if
/// the task is woken up in vain.
#[test]
fn a_read_that_waits_pays_for_its_system_call() {
    let costs = machine("laptop-4").unwrap().costs;
    for (kind, each) in [(ChannelKind::Pipe, costs.pipe), (ChannelKind::Unix, costs.unix)] {
        // Over the Unix socket the client sends a request, and waits for the reply while the request is read.
        let calls = |rounds: u64| {
            let (first, second) = if kind == ChannelKind::Unix {
                (
                    vec![send("a", 4u64), await_reply("a", 4u64)],
                    vec![receive("a", 4u64), compute(50_000u64), reply("a", 4u64)],
                )
            } else {
                (vec![compute(50_000u64), send("a", 4u64)], vec![receive("a", 4u64)])
            };
            let resources = Resources { channels: vec![channels("a", kind, 1)], ..Resources::default() };
            let groups = vec![
                group("c", 1, Mode::Process, vec![times(rounds, first)]),
                group("s", 1, Mode::Process, vec![times(rounds, second)]),
            ];
            let config = attributes([("c", on_cpu(0)), ("s", on_cpu(1))]);
            let outcome = run("laptop-4", "linux-6.12", program(groups, resources, 0), config);
            (outcome.counters.messages, outcome.ledger.total(Account::Syscall))
        };
        let ((few, before), (many, after)) = (calls(100), calls(300));
        // Each message is written, waited for, and read.
        let message = 3 * costs.syscall + 2 * each;
        assert_eq!(after - before, (many - few) * u64::from(message), "{kind:?}");
    }
}

#[test]
fn tasks_touch_the_pages_of_their_buffers_before_the_gate() {
    let faults = |shared_fault, laps: u64| {
        let mut machine = machine("laptop-4").unwrap();
        machine.costs.shared_fault = shared_fault;
        let recorder = || vec![stamp("turn"), times(laps, vec![compute(100u64), lap("turn", "time")])];
        let groups = ["a", "b"].map(|name| group(name, 1, Mode::Process, recorder())).to_vec();
        let silent = group("silent", 1, Mode::Process, vec![compute(100u64)]);
        let resources = Resources { slots: vec![slots("turn", 1, Scope::Task)], ..Resources::default() };
        let plan = Plan::new(program([groups, vec![silent]].concat(), resources, 0)).unwrap();
        let simulation =
            Simulation::new(machine, kernel("linux-6.12").unwrap(), plan, Config::default()).unwrap();
        let outcome = simulation.run().unwrap();
        (outcome.counters.page_faults, outcome.ledger.total(Account::Fault), outcome.observed.elapsed_ns)
    };
    // 1000 samples of 16 bytes: four pages, for each of two tasks.
    let (pages, ns, elapsed) = faults(2000, 1000);
    assert_eq!(pages, 8);
    assert!((8 * 2000..8 * 2000 + 20_000).contains(&ns), "{ns}");
    // Two tasks share 100,000 samples: 800,000 bytes, 196 pages, for each.
    assert_eq!(faults(2000, 60_000).0, 392);
    let (none, nothing, same) = faults(0, 1000);
    assert_eq!((none, nothing), (0, 0));
    assert!(elapsed.abs_diff(same) < 50_000, "{elapsed} {same}");
}

#[test]
fn no_task_preempts_the_main_task_while_it_opens_the_gate() {
    // The main task wakes thirty hogs on its own CPU, and then a task on another CPU.
    for kernel_name in ["linux-4.5", "linux-5.14", "linux-6.12"] {
        let body = || vec![within_window(vec![compute(100_000u64), count("turns", 1u64)])];
        let groups =
            [("hogs", 30), ("late", 1)].map(|(name, count)| group(name, count, Mode::Process, body()));
        let config = attributes([("hogs", on_cpu(0)), ("late", on_cpu(1))]);
        let config = Config { main: on_cpu(0), ..config };
        let outcome =
            run("laptop-4", kernel_name, program(groups.to_vec(), Resources::default(), 10), config);
        let ran = outcome.tasks[30].ran_ns;
        assert!(ran > 9 * MS, "{kernel_name}: {ran} ns of a window of 10 ms");
    }
}

#[test]
fn a_preempted_task_receives_as_slowly_as_one_that_waits() {
    // Both tasks share one CPU. A FIFO server reads and answers each message at once, so that the client never waits.
    let rounds = 100u64;
    let time = |kind, inet_wait, class| {
        let mut machine = machine("laptop-4").unwrap();
        machine.costs.inet_wait = inet_wait;
        let client = times(rounds, vec![send("there", 4u64), await_reply("there", 4u64)]);
        let server = times(rounds, vec![receive("there", 4u64), reply("there", 4u64)]);
        let groups = vec![
            group("client", 1, Mode::Process, vec![client]),
            group("server", 1, Mode::Process, vec![server]),
        ];
        let channels = channels("there", kind, 1);
        let resources = Resources { channels: vec![channels], ..Resources::default() };
        let config = attributes([("client", on_cpu(1)), ("server", Attributes { class, ..on_cpu(1) })]);
        let plan = Plan::new(program(groups, resources, 0)).unwrap();
        let simulation = Simulation::new(machine, kernel("linux-6.12").unwrap(), plan, config).unwrap();
        simulation.run().unwrap().ledger.total(Account::Syscall)
    };
    for class in [Class::Fifo(1), Class::Batch] {
        let more = |kind| time(kind, 10_000, class) - time(kind, 0, class);
        // In each round both tasks wait, or the server waits and the client is preempted.
        let each = more(ChannelKind::Udp) as f64 / (rounds * 10_000) as f64;
        assert!((each - 2.0).abs() < 0.05, "{class:?}: {each}");
        assert_eq!(more(ChannelKind::Unix), 0);
    }
}

/// A task that has sent a request over a Unix socket and waits for the reply also wakes up when the request has been read, unless it
/// polls for bytes.
#[test]
fn a_task_that_waits_at_a_unix_socket_wakes_when_its_peer_has_read() {
    let wakeups = |kind: ChannelKind, take: Take| {
        let (reply, replied) = if kind == ChannelKind::Unix {
            (reply("a", 64u64), receive_by("a", 64u64, Direction::Backward, take))
        } else {
            (send("b", 64u64), receive("b", 64u64))
        };
        let client = vec![times(100u64, vec![send("a", 64u64), replied])];
        let server = vec![times(100u64, vec![receive("a", 64u64), compute(50_000u64), reply])];
        let resources = Resources {
            channels: vec![channels("a", kind, 1), channels("b", kind, 1)],
            ..Resources::default()
        };
        let groups = vec![group("c", 1, Mode::Process, client), group("s", 1, Mode::Process, server)];
        let config = attributes([("c", on_cpu(0)), ("s", on_cpu(1))]);
        let counters = run("laptop-4", "linux-6.12", program(groups, resources, 0), config).counters;
        counters.wakeups.iter().sum::<u64>()
    };
    let (pipe, unix) = (wakeups(ChannelKind::Pipe, Take::Read), wakeups(ChannelKind::Unix, Take::Read));
    assert!((200..210).contains(&pipe) && (299..=pipe + 100).contains(&unix), "{pipe} and {unix}");
    for take in [Take::Poll, Take::Epoll] {
        assert!((200..210).contains(&wakeups(ChannelKind::Unix, take)), "{take:?}");
    }
}

/// Until 6.12 a task that waits by epoll wakes up without the hint that its waker will sleep soon.
#[test]
fn a_wake_up_by_epoll_is_not_synchronous_before_6_13() {
    let synchronous = |kernel_name: &str, kind: ChannelKind, take: Take| {
        let client = vec![times(100u64, vec![send("a", 64u64), await_reply("a", 64u64)])];
        let request = receive_by("a", 64u64, Direction::Forward, take);
        let server = vec![times(100u64, vec![request, compute(50_000u64), reply("a", 64u64)])];
        let resources = Resources { channels: vec![channels("a", kind, 1)], ..Resources::default() };
        let groups = vec![group("c", 1, Mode::Process, client), group("s", 1, Mode::Process, server)];
        let config = attributes([("c", on_cpu(0)), ("s", on_cpu(1))]);
        let config = Config { command_line: "schedstats=enable".to_owned(), ..config };
        let outcome = run("laptop-4", kernel_name, program(groups, resources, 0), config);
        outcome.tasks[1].statistics.as_ref().unwrap().nr_wakeups_sync
    };
    for kind in [ChannelKind::Unix, ChannelKind::Tcp] {
        for kernel_name in ["linux-5.14", "linux-6.18"] {
            for take in [Take::Read, Take::Poll] {
                assert!(synchronous(kernel_name, kind, take) >= 99, "{kernel_name} {kind:?} {take:?}");
            }
        }
        assert!(synchronous("linux-6.18", kind, Take::Epoll) >= 99, "{kind:?}");
        // The wake-up at the start gate.
        assert!(synchronous("linux-5.14", kind, Take::Epoll) <= 1, "{kind:?}");
    }
}

/// Before 5.6 a page that becomes free wakes all writers of a pipe, of which one fills the page.
#[test]
fn a_pipe_wakes_one_writer_at_a_time_since_5_6() {
    let wakeups = |kernel_name: &str| {
        let writers = group("w", 5, Mode::Process, vec![times(40u64, vec![send("pipe", 4096u64)])]);
        let reading = times(200u64, vec![compute(100_000u64), receive("pipe", 4096u64)]);
        let resources =
            Resources { channels: vec![channels("pipe", ChannelKind::Pipe, 1)], ..Resources::default() };
        let groups = vec![writers, group("r", 1, Mode::Process, vec![reading])];
        let counters =
            run("laptop-4", kernel_name, program(groups, resources, 0), Config::default()).counters;
        assert_eq!(counters.messages, 200);
        counters.wakeups.iter().sum::<u64>()
    };
    let (all, one) = (wakeups("linux-4.5"), wakeups("linux-5.10"));
    // The last 184 messages find the pipe full. Most of the time several writers wait.
    assert!((184..220).contains(&one) && all > 2 * one, "{all} and {one}");
}

/// From 5.6 to 6.13 each read of a full pipe wakes a writer, although only the third frees the page of a message of 3000 bytes. A
/// writer that has waited wakes up the next, as long as a page is free.
#[test]
fn one_free_page_wakes_one_writer_and_further_pages_wake_one_after_the_other() {
    let wakeups = |kernel_name: &str, bytes: u64| {
        let writers = group("w", 4, Mode::Process, vec![times(20u64, vec![send("pipe", 3000u64)])]);
        let read = times(80 * 3000 / bytes, vec![receive("pipe", bytes), compute(200_000u64)]);
        let reader = group("r", 1, Mode::Process, vec![compute(20_000_000u64), read]);
        let resources =
            Resources { channels: vec![channels("pipe", ChannelKind::Pipe, 1)], ..Resources::default() };
        let config = attributes([("w", on_cpu(0)), ("r", on_cpu(1))]);
        let outcome = run("laptop-4", kernel_name, program(vec![writers, reader], resources, 0), config);
        outcome.tasks.iter().filter(|task| task.name.starts_with('w')).map(|task| task.wakeups.0).sum::<u64>()
    };
    let old = wakeups("linux-6.12", 1000);
    let (one, several) = (wakeups("linux-6.18", 1000), wakeups("linux-6.18", 12_000));
    // 64 messages find the pipe full. A read of 12,000 bytes frees four pages, for as many writers.
    assert!((64..72).contains(&one) && old > 2 * one && several > 30, "{old}, {one} and {several}");
}

/// A child competes with another task by the attributes that its parent has given itself before the fork.
#[test]
fn children_inherit_the_attributes_that_their_parent_has_at_the_fork() {
    let child_time = |own: Option<Policy>| {
        let set =
            own.map(|policy| Op::Set { attributes: Wanted { policy: Some(policy), ..Wanted::default() } });
        let forked = fork(vec![compute(10 * MS)]);
        let body = [stamp("begin"), forked, Op::Wait { count: None }, record("begin", "time")];
        let parent = group("a", 1, Mode::Process, set.into_iter().chain(body).collect());
        let other = group("b", 1, Mode::Process, vec![compute(40 * MS)]);
        let resources = Resources { slots: vec![slots("begin", 1, Scope::Task)], ..Resources::default() };
        let config = attributes([("a", on_cpu(0)), ("b", on_cpu(0))]);
        run("laptop-4", "linux-6.12", program(vec![parent, other], resources, 0), config).observed.series[0]
            [0]
    };
    let [other, fifo, idle] = [None, Some(Policy::Fifo), Some(Policy::Idle)].map(child_time);
    assert!(fifo < 12 * MS && other > 15 * MS && idle > 45 * MS, "{fifo}, {other} and {idle} ns");
}

/// sched_setattr(2) without a slice gives the task the kernel's slice again; sched_setaffinity(2) leaves its slice.
#[test]
fn a_change_of_policy_resets_a_slice_and_a_change_of_cpus_does_not() {
    let preemptions = |change: Wanted| {
        let set = Op::Set { attributes: change };
        let first = group("a", 1, Mode::Process, vec![set, compute(100 * MS)]);
        let other = group("b", 1, Mode::Process, vec![compute(100 * MS)]);
        let long = Attributes { slice_ns: Some(100 * MS), ..on_cpu(0) };
        let config = attributes([("a", long), ("b", on_cpu(0))]);
        let program = program(vec![first, other], Resources::default(), 0);
        run("laptop-4", "linux-6.12", program, config).tasks[0].switches.1
    };
    let policy = preemptions(Wanted { policy: Some(Policy::Other), priority: Some(0), ..Wanted::default() });
    let cpus = preemptions(Wanted { cpus: Some(vec![0]), ..Wanted::default() });
    assert!(2 * cpus < policy, "{policy} and {cpus} preemptions");
}

/// The lines of a queue move once for the messages that a CPU writes, or reads, one after the other, and a core fetches the next bytes of
/// a pipe ahead.
#[test]
fn a_batch_of_messages_fetches_the_lines_of_its_queue_once() {
    let line = u64::from(machine("i7-3770").unwrap().costs.line.llc);
    let batch = |kind: ChannelKind| {
        let written = times(10u64, vec![down("there"), up("back", 1u64)]);
        lines_time(kind, 1, vec![written, times(10u64, vec![receive("queue", 64u64)])])
    };
    assert_eq!(batch(ChannelKind::Pipe), (2 + 1) * line + 9 * (line / 5));
    // A message over a Unix socket is in memory of its own. The last read finds six lines more.
    assert_eq!(batch(ChannelKind::Unix), (2 + 10 * (5 + 1) + 6) * line);
}

/// A line costs less from a core of the same cluster: CPUs 0 to 3 are a cluster.
#[test]
fn lines_within_a_cluster_cost_as_the_machine_says() {
    let lines = machine("kunpeng920").unwrap().costs.line;
    for (cpu, line) in [(1, lines.cluster), (3, lines.cluster), (4, lines.llc)] {
        let written = times(10u64, vec![down("there"), up("back", 1u64)]);
        let body = vec![written, times(10u64, vec![receive("queue", 64u64)])];
        let line = u64::from(line);
        let time = lines_time_on("kunpeng920", ChannelKind::Pipe, cpu, body);
        assert_eq!(time, (2 + 1) * line + 9 * (line / 5), "CPU {cpu}");
    }
}

/// A task wakes up while its waker has CPU 6, and may also use CPU 4 of the same cluster and CPU 8 of the next. Kernels without
/// clusters search from CPU 6 upwards.
#[test]
fn a_wakee_gets_an_idle_cpu_of_its_wakers_cluster_since_6_7() {
    let migrations = |kernel_name: &str| {
        let bound =
            |cpus: &[u32]| Op::Set { attributes: Wanted { cpus: Some(cpus.into()), ..Wanted::default() } };
        let wakee = vec![bound(&[6]), bound(&[4, 6, 8]), down("go"), compute(10_000u64)];
        let waker = vec![Op::Sleep { ns: MS.into() }, up("go", 1u64), compute(50_000u64)];
        let groups = vec![
            group("wakee", 1, Mode::Process, vec![times(20u64, wakee)]),
            group("waker", 1, Mode::Process, vec![times(20u64, waker)]),
        ];
        let resources =
            Resources { semaphores: vec![semaphores("go", 1, Scope::Program, 0)], ..Resources::default() };
        let config = Config { main: on_cpu(0), ..attributes([("waker", on_cpu(6)), ("wakee", on_cpu(6))]) };
        let counters = run("kunpeng920", kernel_name, program(groups, resources, 0), config).counters;
        [Distance::Cluster, Distance::Llc].map(|distance| counters.wake_migrations[distance as usize])
    };
    for (kernel_name, expected) in
        [("linux-5.14", [0, 20]), ("linux-6.6", [0, 20]), ("linux-6.12", [20, 0]), ("linux-7.2", [20, 0])]
    {
        assert_eq!(migrations(kernel_name), expected, "{kernel_name}");
    }
}

/// Tasks of which one wakes many others are not pulled to its CPU, although they wake nobody: under a cache of two CPUs the flips suffice
/// that children inherit.
#[test]
fn wakees_that_inherit_flips_stay_on_their_cpus_under_a_small_cache() {
    let names = ["s0", "s1", "s2", "s3"];
    let counters = |cores_per_cache: u32| {
        let wakes = names.map(|name| up(name, 1u64));
        let waking = times(100u64, wakes.into_iter().chain([compute(100_000u64)]).collect());
        let groups = std::iter::once(group("waker", 1, Mode::Process, vec![waking]));
        let woken = names.map(|name| {
            let body = times(100u64, vec![down(name), compute(30_000u64)]);
            group(name, 1, Mode::Process, vec![body])
        });
        let semaphores = names.map(|name| semaphores(name, 1, Scope::Program, 0)).to_vec();
        let resources = Resources { semaphores, ..Resources::default() };
        let plan = Plan::new(program(groups.chain(woken).collect(), resources, 0)).unwrap();
        let machine = Machine { cores_per_cache, ..machine("laptop-4").unwrap() };
        let simulation = Simulation::new(machine, kernel("linux-6.12").unwrap(), plan, Config::default());
        simulation.unwrap().run().unwrap().counters
    };
    let (two, four) = (counters(2), counters(4));
    assert!(two.wake_wide > 40 && four.wake_wide < 5, "{} and {}", two.wake_wide, four.wake_wide);
}

/// A message over a socket has more lines than a message through a pipe, which its reader fetches from the writer's core, and the next
/// writer from the reader's.
#[test]
fn lines_of_sockets_and_descriptors_move_between_cores() {
    let line = u64::from(machine("i7-3770").unwrap().costs.line.llc);
    let fetched = |kind: ChannelKind| {
        let reads = vec![down("there"), receive("queue", 64u64), up("back", 1u64)];
        lines_time(kind, 1, vec![times(10u64, reads)])
    };
    // Ten reads, and nine writes into memory that the reader has freed.
    for (kind, write, read) in
        [(ChannelKind::Unix, 5, 6 + 5), (ChannelKind::Udp, 5, 5), (ChannelKind::Tcp, 21, 6)]
    {
        let lines = 9 * write + 10 * read;
        assert_eq!(fetched(kind) - fetched(ChannelKind::Pipe), lines * line, "{kind:?}");
    }
}

/// Tasks that fork on equally busy CPUs compare shares that were counted at different times. Of the children of four tasks on two CPUs
/// with Linux 6.18.44, 40 to 44 % start on the other CPU in an autogroup, and 6 to 13 % without.
#[test]
fn in_an_autogroup_more_children_start_on_another_cpu() {
    let spread = |on: i64| {
        let two = Machine { cores_per_cache: 2, ..machine("laptop-4").unwrap() };
        let forks = Forkstorm { tasks: 4, exec: false, warmup_ns: 100 * MS, duration_ns: 300 * MS };
        let plan = Plan::new(forks.program().unwrap()).unwrap();
        let tunables = vec![("kernel.sched_autogroup_enabled".to_owned(), on)];
        let config = Config { tunables, ..Config::default() };
        let simulation = Simulation::new(two, kernel("linux-6.18").unwrap(), plan, config);
        let counters = simulation.unwrap().run().unwrap().counters;
        counters.spread_migrations.iter().sum::<u64>() as f64 / counters.forks as f64
    };
    let (grouped, alone) = (spread(1), spread(0));
    assert!((0.25..0.5).contains(&grouped) && (0.03..0.2).contains(&alone), "{grouped} and {alone}");
}

#[test]
fn a_pipes_writer_blocks_at_sixteen_pages_until_the_reader_makes_room() {
    let writer = vec![times(20u64, vec![send("pipe", 4096u64), count("turns", 1u64)])];
    let reader = vec![Op::Sleep { ns: (100 * MS).into() }, times(20u64, vec![receive("pipe", 4096u64)])];
    let resources =
        Resources { channels: vec![channels("pipe", ChannelKind::Pipe, 1)], ..Resources::default() };
    let groups = vec![group("a", 1, Mode::Process, writer), group("b", 1, Mode::Process, reader)];
    let mut blocked = program(groups, resources, 0);
    // Counted within the first 50 ms: the sixteen messages that fit.
    blocked.window = Some(Window::new(0, 50 * MS).unwrap());
    let outcome = run("laptop-4", "linux-5.14", blocked, Config::default());
    assert_eq!(outcome.observed.counters[0], 16);
    assert_eq!(outcome.counters.messages, 20);
}

#[test]
fn lock_serves_its_waiters_in_order_and_has_one_holder() {
    // Five tasks keep the lock for 10 ms each, one after the other, on four CPUs.
    let body = locked("lock", vec![compute(10 * MS), count("turns", 1u64)]);
    let resources = Resources { locks: vec![locks("lock", 1, Scope::Program)], ..Resources::default() };
    let outcome = run(
        "laptop-4",
        "linux-5.14",
        program(vec![group("a", 5, Mode::Process, body)], resources, 0),
        Config::default(),
    );
    let elapsed = outcome.observed.elapsed_ns;
    assert!((50 * MS..51 * MS).contains(&elapsed), "{elapsed}");
}

#[test]
fn deadlock_is_reported_with_the_waiting_tasks() {
    let cross = |first: u64, second: u64| {
        let inner = [vec![Op::Sleep { ns: MS.into() }], locked(at("lock", second), vec![])].concat();
        locked(at("lock", first), inner)
    };
    let resources = Resources { locks: vec![locks("lock", 2, Scope::Program)], ..Resources::default() };
    let groups = vec![group("a", 1, Mode::Process, cross(0, 1)), group("b", 1, Mode::Process, cross(1, 0))];
    let error =
        try_run("laptop-4", "linux-5.14", program(groups, resources, 0), Config::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("a 0 waits for lock `lock` (instance 1) (owned by b 0)"), "{text}");
    assert!(text.contains("b 0 waits for lock `lock` (instance 0) (owned by a 0)"), "{text}");
    // Other tasks that continue, and the time until which these tasks continue, make no difference.
    let resources = Resources { locks: vec![locks("lock", 2, Scope::Program)], ..Resources::default() };
    let goes_on = within_window(vec![compute(100_000u64), count("turns", 1u64)]);
    let groups = vec![
        group("a", 1, Mode::Process, cross(0, 1)),
        group("b", 1, Mode::Process, cross(1, 0)),
        group("goes on", 1, Mode::Process, vec![goes_on]),
    ];
    let error =
        try_run("laptop-4", "linux-6.12", program(groups, resources, 50), Config::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("waits for lock `lock` (instance 1) (owned by b 0)"), "{text}");
    assert!(!text.contains("goes on"), "{text}");
    // A task waits for a message that no task will send. Other tasks that sleep meanwhile make no difference.
    let resources =
        Resources { semaphores: vec![semaphores("never", 1, Scope::Program, 0)], ..Resources::default() };
    let waits = group("waits", 2, Mode::Process, vec![down("never")]);
    let sleeps = group("sleeps", 1, Mode::Process, vec![Op::Sleep { ns: (5 * MS).into() }]);
    let error =
        try_run("laptop-4", "linux-6.12", program(vec![waits, sleeps], resources, 0), Config::default());
    let text = error.unwrap_err().to_string();
    assert!(text.contains("deadlock") && text.contains("waits 0 waits for semaphore `never`"), "{text}");
}

#[test]
fn a_deadlock_names_the_living_tasks_at_the_other_end_of_the_channel() {
    let pipe = |name| channels(name, ChannelKind::Pipe, 1);
    let resources = Resources {
        channels: vec![pipe("ours"), pipe("theirs")],
        semaphores: vec![semaphores("never", 1, Scope::Program, 0)],
        ..Resources::default()
    };
    let task = |name: &str, body: Vec<Op>| group(name, 1, Mode::Process, body);
    let groups = vec![
        task("reader", vec![receive("ours", 2u64)]),
        task("sender", vec![down("never"), send("ours", 1u64)]),
        task("ended", vec![send("ours", 1u64)]),
        task("second reader", vec![down("never"), receive("ours", 1u64)]),
        task("other sender", vec![down("never"), send("theirs", 1u64)]),
        task("other reader", vec![down("never"), receive("theirs", 1u64)]),
    ];
    let error = try_run("laptop-4", "linux-6.12", program(groups, resources, 0), Config::default());
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("reader 0 waits for a message on channel `ours` (instance 0) (sender 0);"),
        "{text}"
    );
}

#[test]
fn a_deadlock_names_the_living_children_that_a_task_waits_for() {
    let resources =
        Resources { semaphores: vec![semaphores("never", 1, Scope::Program, 0)], ..Resources::default() };
    let fork = |body| Op::Fork { body };
    let parent = vec![fork(vec![compute(1000u64)]), fork(vec![down("never")]), Op::Wait { count: None }];
    let other = vec![fork(vec![down("never")]), down("never")];
    let groups = vec![group("parent", 1, Mode::Process, parent), group("other", 1, Mode::Process, other)];
    let error = try_run("laptop-4", "linux-6.12", program(groups, resources, 0), Config::default());
    let text = error.unwrap_err().to_string();
    let (_, children) = text.split_once("parent 0 waits for its children (").unwrap();
    let (children, _) = children.split_once(')').unwrap();
    assert!(children.contains("parent") && !children.contains([',', '&']), "{text}");
}

#[test]
fn wrong_input_is_refused_with_its_place() {
    let refuse =
        |config: Config| try_run("laptop-4", "linux-5.14", hogs(&["a"], 10), config).unwrap_err().to_string();
    let tunable =
        |name: &str, value| Config { tunables: vec![(name.to_owned(), value)], ..Config::default() };
    assert!(
        refuse(tunable("sched.base_slice_ns", 1))
            .contains("kernels with this tunable: linux-6.6, linux-6.12")
    );
    assert!(refuse(tunable("sched.latency_ns", 5)).contains("from 100000 to 1000000000"));
    let change = Change { at_ns: 5, tunable: "sched.nothing".to_owned(), value: 1 };
    assert!(refuse(Config { changes: vec![change], ..Config::default() }).contains("sched.nothing"));
    assert!(
        refuse(attributes([("nobody", Attributes::default())])).contains("the program has no such group")
    );
    assert!(refuse(attributes([("a", on_cpu(4))])).contains("the CPUs of the group are not among 0 to 3"));
    assert!(
        refuse(attributes([("a", Attributes { nice: 20, ..Attributes::default() })])).contains("nice 20")
    );
    assert!(refuse(Config { main: on_cpu(4), ..Config::default() }).contains("main"));
    let none = Attributes { cpus: Some(CpuMask::EMPTY), ..Attributes::default() };
    assert!(refuse(attributes([("a", none)])).contains("CPUs"));
    assert!(
        refuse(Config { command_line: "isolcpus=9".to_owned(), ..Config::default() }).contains("isolcpus=9")
    );
    assert!(machine("vax").unwrap_err().to_string().contains("kunpeng920"));
}

#[test]
fn sending_without_a_receiver_is_an_error_of_the_task() {
    let sender = vec![Op::Sleep { ns: (10 * MS).into() }, send("pipe", 4u64)];
    let receiver = vec![times(Expr::task(), vec![receive("pipe", 4u64)])];
    let resources =
        Resources { channels: vec![channels("pipe", ChannelKind::Pipe, 1)], ..Resources::default() };
    let groups = vec![group("a", 1, Mode::Process, sender), group("b", 1, Mode::Process, receiver)];
    let error =
        try_run("laptop-4", "linux-5.14", program(groups, resources, 0), Config::default()).unwrap_err();
    assert!(error.to_string().starts_with("a 0 failed at"), "{error}");
}

#[test]
fn large_footprints_need_no_memory() {
    // A footprint of 10 GB: three walks over the footprint, each in 40960 parts.
    let memory = schedlab_workload::library::schedbench::Schedbench {
        processes: 1,
        memory_mib: 10_240,
        walks: 1,
        ..Default::default()
    };
    let outcome = run("xeon-e5-2670v3", "linux-5.14", memory.program().unwrap(), Config::default());
    assert_eq!(outcome.end, End::Finished);
    assert!(outcome.counters.page_faults >= 10_240 * 256);
}

/// Run tasks on separate CPUs that take one lock at the same time and keep the lock for 100 µs.
fn contenders(tasks: usize) -> Outcome {
    let critical = locked("row", vec![compute(100_000u64)]);
    let names: Vec<String> = (0..tasks).map(|task| format!("t{task}")).collect();
    let groups = names.iter().map(|name| group(name, 1, Mode::Process, critical.clone())).collect();
    let resources = Resources { locks: vec![locks("row", 1, Scope::Program)], ..Resources::default() };
    let pinned = names.iter().enumerate().map(|(cpu, name)| (name.clone(), on_cpu(cpu))).collect();
    let config = Config { groups: pinned, ..Config::default() };
    run("xeon-e5-2670v3", "linux-5.14", program(groups, resources, 0), config)
}

#[test]
fn lock_waits_are_reported_by_the_name_of_the_lock() {
    let alone = contenders(1).locks;
    assert_eq!((alone[0].name.as_str(), alone[0].locks), ("row", 1));
    let used = alone[0].all;
    assert_eq!((used.acquired, used.contended, used.waited_ns), (1, 0, 0));

    // In order of arrival the k-th task waits for k turns of 100 µs, each longer by the time of a wake-up.
    let (four, used) = (4, contenders(4).locks[0].all);
    assert_eq!((used.acquired, used.contended), (four, four - 1));
    assert_eq!(used.distances.iter().sum::<u64>(), four);
    let (sum, longest) = (100_000 * (1 + 2 + 3), 100_000 * 3);
    assert!((sum..sum + sum / 5).contains(&used.waited_ns), "{used:?}");
    assert!((longest..longest + longest / 5).contains(&used.longest_ns), "{used:?}");
    assert_eq!(contenders(4).locks[0].worst, used, "there is one lock of that name");
}
