//! NUMA balancing, with expectations computed by hand. CPUs 0–11 and 24–35 of the Xeon are node 0, all other CPUs node
//! 1. The tick period is 4 ms. A hinting fault costs 1200 ns, marking 1 MiB 2500 ns, and moving a page 4000 ns.

use std::collections::BTreeMap;

use schedlab_sim::observe::Counters;
use schedlab_sim::{Account, Attributes, Change, Config, Machine, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::program::{
    Attributes as Wanted, Image, MainMemory, Mode, Op, Pattern, Program, Quantity, Resources, Scope,
    TaskGroup, Window, compute, fork, group, lower, region, times, wait_all, within_window,
};

const MS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;

fn touch(bytes: u64) -> Op {
    let pattern = Pattern::Sequential;
    Op::Touch {
        region: "memory".into(),
        offset: 0u64.into(),
        bytes: bytes.into(),
        stride: 64,
        pattern,
        write: true,
    }
}

fn on(cpus: &[u32]) -> Op {
    Op::Set { attributes: Wanted { cpus: Some(cpus.to_vec()), ..Wanted::default() } }
}

fn program(groups: Vec<TaskGroup>, bytes: u64, scope: Scope, window_ms: u64) -> Program {
    Program {
        window: (window_ms > 0).then(|| Window::new(0, window_ms * MS).unwrap()),
        resources: Resources { regions: vec![region("memory", bytes, scope)], ..Resources::default() },
        groups,
        metrics: vec![lower("elapsed", "s", Quantity::Elapsed, 1.0)],
        ..Program::named("test")
    }
}

/// A task that fills `mib` MiB on node 0, then moves to `cpus` and walks the memory on these CPUs until the window
/// closes.
fn walker(mib: u64, cpus: &[&[u32]], window_ms: u64) -> Program {
    let mut body = vec![on(&[0]), touch(mib * MIB)];
    body.extend(cpus.iter().map(|cpus| on(cpus)));
    body.push(within_window(vec![touch(mib * MIB), compute(100_000u64)]));
    program(vec![group("a", 1, Mode::Process, body)], mib * MIB, Scope::Task, window_ms)
}

/// A configuration without cache footprints, so that a process has only the memory of its region.
fn config(tunables: &[(&str, i64)]) -> Config {
    let bare = Attributes { footprint_kib: Some(0), ..Attributes::default() };
    Config {
        tunables: tunables.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        groups: BTreeMap::from([("a".to_owned(), bare)]),
        ..Config::default()
    }
}

/// A scan delay and a minimum scan period of 100 ms.
const QUICK: [(&str, i64); 2] =
    [("sched.numa_balancing.scan_delay_ms", 100), ("sched.numa_balancing.scan_period_min_ms", 100)];

fn run_on(machine: Machine, kernel_name: &str, program: Program, config: Config) -> Outcome {
    let plan = Plan::new(program).unwrap();
    Simulation::new(machine, kernel(kernel_name).unwrap(), plan, config).unwrap().run().unwrap()
}

fn run(kernel_name: &str, program: Program, config: Config) -> Outcome {
    run_on(machine("xeon-e5-2670v3").unwrap(), kernel_name, program, config)
}

/// Numbers of marked pages, hinting faults, local hinting faults and migrated pages.
fn pages(counters: &Counters) -> [u64; 4] {
    [
        counters.numa_pte_updates,
        counters.numa_hint_faults,
        counters.numa_hint_faults_local,
        counters.numa_pages_migrated,
    ]
}

#[test]
fn the_first_scan_is_at_the_first_tick_after_scan_delay_of_run_time() {
    // The task runs half of the time, so that its run time differs from its age.
    let half = || {
        let body =
            vec![touch(MIB), within_window(vec![compute(700_000u64), Op::Sleep { ns: (700_000u64).into() }])];
        program(vec![group("a", 1, Mode::Process, body)], MIB, Scope::Task, 400)
    };
    for delay in [0u64, 37, 100] {
        let tunables = [("sched.numa_balancing.scan_delay_ms", delay as i64)];
        let at = |horizon_ns: u64| {
            let config = Config { horizon_ns: Some(horizon_ns), ..config(&tunables) };
            run("linux-4.5", half(), config)
        };
        let (mut before, mut after) = (1, 400 * MS);
        while after - before > 1 {
            let middle = before.midpoint(after);
            if at(middle).counters.numa_scans == 0 { before = middle } else { after = middle }
        }
        // The scan is at the first tick of the task's CPU after `delay` of run time.
        let (scanned, not_yet) = (at(after), at(before));
        assert_eq!(scanned.counters.ticks, not_yet.counters.ticks + 1);
        // The run time includes the 1500 ns of the tick.
        let ran = not_yet.tasks[0].ran_ns + 1500;
        // A tick is due every 4 ms, in which the task runs for 2 ms. Up to two ticks in a row meet the task asleep.
        assert!((delay * MS..(delay + 6) * MS).contains(&ran), "delay {delay} ms: ran {ran} ns");
    }
}

#[test]
fn a_page_moves_after_two_faults_from_a_node_and_not_after_one() {
    // The task is bound to node 1, its 256 pages are on node 0. Scans after 100, 208 and 316 ms of run time: the delay,
    // then the minimum period of 100 ms (no fault is local) and two ticks.
    let after = |window_ms| run("linux-4.5", walker(1, &[&[12]], window_ms), config(&QUICK));
    let (none, one, two, three) = (after(90), after(150), after(250), after(350));
    assert_eq!(pages(&none.counters), [0, 0, 0, 0]);
    assert_eq!(pages(&one.counters), [256, 256, 0, 0]);
    assert_eq!(pages(&two.counters), [512, 512, 0, 256]);
    assert_eq!(pages(&three.counters), [768, 768, 256, 256]);
    let costs = |outcome: &Outcome| {
        [Account::NumaScan, Account::NumaFault, Account::NumaMigrate]
            .map(|account| outcome.ledger.total(account))
    };
    assert_eq!(costs(&none), [0, 0, 0]);
    assert_eq!(costs(&one), [2500, 256 * 1200, 0]);
    assert_eq!(costs(&two), [2 * 2500, 512 * 1200, 256 * 4000]);
    assert_eq!(costs(&three), [3 * 2500, 768 * 1200, 256 * 4000]);
    // The task prefers node 0, but its affinity excludes that node.
    assert!(two.counters.numa_task_stayed > 0 && two.counters.numa_task_migrated == 0);
}

#[test]
fn a_page_does_not_move_when_its_faults_come_from_alternating_nodes() {
    // Scans after 100, 208, 316 and 454 ms of run time. The last period is three tenths longer, because the faults of the
    // second pass were local. The task changes its node between the scans, after about 150, 258 and 385 ms. A walk takes
    // 0.93 ms.
    let walks = |number: u64| times(number, vec![touch(MIB), compute(900_000u64)]);
    let walks_on = |cpu: u32, number| vec![on(&[cpu]), walks(number)];
    let body = [
        vec![on(&[0]), touch(MIB)],
        walks_on(12, 161),
        walks_on(0, 116),
        walks_on(12, 137),
        walks_on(0, 130),
    ]
    .concat();
    let alternating = program(vec![group("a", 1, Mode::Process, body)], MIB, Scope::Task, 0);
    let outcome = run("linux-4.5", alternating, config(&QUICK));
    let [marked, faults, local, moved] = pages(&outcome.counters);
    assert_eq!((marked, faults, moved), (4 * 256, 4 * 256, 0), "{:?}", outcome.counters);
    assert_eq!(local, 2 * 256);
}

#[test]
fn newer_kernels_do_not_mark_private_pages_that_are_local() {
    let local = |kernel_name| pages(&run(kernel_name, walker(1, &[], 250), config(&QUICK)).counters);
    assert_eq!(local("linux-4.5"), [512, 512, 512, 0]);
    assert_eq!(local("linux-5.14"), [0; 4]);
    let remote = |kernel_name| pages(&run(kernel_name, walker(1, &[&[12]], 350), config(&QUICK)).counters);
    assert_eq!(remote("linux-5.14"), [512, 512, 0, 256], "pages are marked until they have been moved");
    assert_eq!(remote("linux-6.12"), [512, 512, 0, 256]);
}

#[test]
fn a_task_on_the_wrong_node_goes_to_its_memory_and_stays_there() {
    // 2048 pages on node 0; the task starts on CPU 12 and may run anywhere. The second scan evaluates the faults of the first
    // pass.
    let after = |window_ms| run("linux-4.5", walker(8, &[&[12], &[]], window_ms), config(&QUICK));
    let (before, moved_task) = (after(180), after(2000));
    assert_eq!((before.counters.numa_task_migrated, pages(&before.counters)), (0, [2048, 2048, 0, 0]));
    let [marked, faults, local, moved] = pages(&moved_task.counters);
    assert_eq!(
        (moved_task.counters.numa_task_migrated, moved_task.counters.numa_task_stayed, moved),
        (1, 0, 0)
    );
    assert_eq!(
        (marked, local),
        (faults, faults - 2048),
        "all faults except faults of the first pass are local"
    );
    // Scanning both nodes, 450 + 2 × 133 + 48 × 95 instructions of 0.318 ns, and moving one task, 400 ns.
    assert_eq!(moved_task.ledger.total(Account::NumaPlace), 2077);
    let off = run("linux-4.5", walker(8, &[&[12], &[]], 2000), config(&[("kernel.numa_balancing", 0)]));
    let remote = |outcome: &Outcome| outcome.ledger.total(Account::Remote);
    assert!(remote(&moved_task) * 5 < remote(&off), "{} {}", remote(&moved_task), remote(&off));
}

/// A task on node 1 whose memory is on node 0, and tasks of both nodes that never sleep.
fn moves(kernel_name: &str, on_node_0: u32, on_node_1: u32) -> u64 {
    let mut wrong = walker(8, &[&[12], &[]], 1500);
    let hogs = (0..on_node_0).map(|cpu| cpu + 1).chain((0..on_node_1).map(|cpu| cpu + 13));
    wrong.groups.extend(hogs.map(|cpu| {
        let body = vec![on(&[cpu]), within_window(vec![compute(100_000u64)])];
        group(&format!("hog {cpu}"), 1, Mode::Process, body)
    }));
    run(kernel_name, wrong, config(&QUICK)).counters.numa_task_migrated
}

#[test]
fn placement_follows_the_balancing_of_each_kernel() {
    // Before 3.13 tasks have no preferred node.
    assert_eq!(moves("linux-3.8", 0, 0), 0);
    assert!(moves("linux-4.5", 0, 0) > 0 && moves("linux-6.12", 0, 0) > 0);
    // 4.5 compares loads: seven and six tasks are as uneven afterwards. Since 5.7 the number of tasks may not become uneven.
    assert!(moves("linux-4.5", 6, 6) > 0);
    assert_eq!((moves("linux-5.14", 6, 6), moves("linux-6.12", 6, 6)), (0, 0));
    assert!(moves("linux-5.14", 6, 8) > 0 && moves("linux-6.12", 6, 8) > 0);
    // A few tasks may stay: fewer than a quarter of the node's 24 CPUs in 5.14, up to an eighth in 6.12, two in 5.10.
    assert!(moves("linux-5.14", 4, 4) > 0);
    assert_eq!((moves("linux-6.12", 4, 4), moves("linux-5.10", 4, 4)), (0, 0));
    assert!(moves("linux-6.12", 2, 2) > 0 && moves("linux-5.10", 1, 1) > 0);
    assert_eq!(moves("linux-5.10", 2, 2), 0);
}

/// Two tasks on the nodes of each other's memory, beside enough tasks that a further one would not stay on a node.
#[test]
fn tasks_exchange_places_beside_spare_capacity_until_5_19() {
    let swapped = |kernel_name: &str| {
        let walk = |first: u32, then: u32| {
            let walking = within_window(vec![touch(8 * MIB), compute(100_000u64)]);
            vec![on(&[first]), touch(8 * MIB), on(&[then]), on(&[]), walking]
        };
        let mut groups =
            vec![group("a", 1, Mode::Process, walk(0, 12)), group("b", 1, Mode::Process, walk(12, 0))];
        groups.extend((1..=6u32).chain(13..=18).map(|cpu| {
            let body = vec![on(&[cpu]), within_window(vec![compute(100_000u64)])];
            group(&format!("hog {cpu}"), 1, Mode::Process, body)
        }));
        let program = program(groups, 8 * MIB, Scope::Task, 1500);
        run(kernel_name, program, config(&QUICK)).counters.numa_task_swapped
    };
    assert!(swapped("linux-5.14") > 0 && swapped("linux-4.5") > 0);
    assert_eq!(swapped("linux-6.12"), 0);
}

#[test]
fn a_task_runs_32_times_as_long_as_a_scan_before_the_next_scan() {
    // A scan of 1 MiB takes 31.25 ms. The first scan is after 100 ms of run time, and the second after further 100 ms of the
    // minimum period, 8 ms of two ticks, and 1000 ms = 32 × 31.25 ms.
    let scans = |window_ms| {
        let mut slow = machine("xeon-e5-2670v3").unwrap();
        slow.costs.scan_mib = 31_250_000;
        run_on(slow, "linux-4.5", walker(1, &[&[12]], window_ms), config(&QUICK)).counters.numa_scans
    };
    assert_eq!([90, 120, 1200, 1220].map(scans), [0, 1, 1, 2]);
}

#[test]
fn a_task_stays_with_its_footprint_if_that_is_larger_than_its_remote_memory() {
    // 256 pages on node 0. The footprint is where the task runs, on node 1, and has 2048 pages ± a quarter. The scans
    // of Linux 5.14 spare the footprint as local, so that only the remote pages count.
    let after = |kernel_name, footprint_kib, window_ms| {
        let attributes = Attributes { footprint_kib: Some(footprint_kib), ..Attributes::default() };
        let config = Config { groups: [("a".to_owned(), attributes)].into(), ..config(&QUICK) };
        run(kernel_name, walker(1, &[&[12], &[]], window_ms), config).counters
    };
    let migrated = |kernel_name, footprint_kib| after(kernel_name, footprint_kib, 1000).numa_task_migrated;
    assert_eq!(
        (migrated("linux-4.5", 0), migrated("linux-4.5", 8192), migrated("linux-5.14", 8192)),
        (1, 0, 1)
    );
    let first = after("linux-4.5", 8192, 150);
    assert_eq!(first.numa_hint_faults - first.numa_hint_faults_local, 256);
    assert!((1536..=2560).contains(&first.numa_hint_faults_local), "{}", first.numa_hint_faults_local);
}

#[test]
fn two_tasks_on_each_others_nodes_swap_their_cpus() {
    // The tasks may use only these two CPUs, so that there is no idle CPU.
    let body = |home: u32, away: u32| {
        let walk = within_window(vec![touch(4 * MIB), compute(100_000u64)]);
        vec![on(&[home]), touch(4 * MIB), on(&[away]), on(&[0, 12]), walk]
    };
    let groups = vec![group("a", 1, Mode::Process, body(0, 12)), group("b", 1, Mode::Process, body(12, 0))];
    let outcome = run("linux-4.5", program(groups, 4 * MIB, Scope::Task, 1000), config(&QUICK));
    let counters = &outcome.counters;
    assert_eq!((counters.numa_task_swapped, counters.numa_task_migrated), (1, 0), "{counters:?}");
    assert_eq!(counters.numa_pages_migrated, 0);
}

#[test]
fn threads_share_a_scan_and_processes_do_not() {
    let groups = |mode| {
        let walk = vec![within_window(vec![touch(MIB), compute(100_000u64)])];
        program(vec![group("a", 4, mode, walk)], MIB, Scope::Program, 150)
    };
    let marked = |mode| run("linux-4.5", groups(mode), config(&QUICK)).counters.numa_pte_updates;
    assert_eq!((marked(Mode::Thread), marked(Mode::Process)), (256, 4 * 256));
}

#[test]
fn a_scan_marks_only_the_pages_of_a_shared_region_that_its_process_has_touched() {
    // Process a fills 256 pages; process b touches 64 of these pages.
    let walk = |bytes| within_window(vec![touch(bytes), compute(100_000u64)]);
    let groups = vec![
        group("a", 1, Mode::Process, vec![touch(MIB), walk(MIB)]),
        group("b", 1, Mode::Process, vec![walk(MIB / 4)]),
    ];
    let bare = || Attributes { footprint_kib: Some(0), ..Attributes::default() };
    let groups_of = BTreeMap::from([("a".to_owned(), bare()), ("b".to_owned(), bare())]);
    let config = Config { groups: groups_of, ..config(&QUICK) };
    let outcome = run("linux-4.5", program(groups, MIB, Scope::Program, 150), config);
    assert_eq!((outcome.counters.numa_scans, outcome.counters.numa_pte_updates), (2, 256 + 64));
}

#[test]
fn a_scan_marks_scan_size_pages_and_the_next_scan_continues_there() {
    // 8 MiB in scans of 2 MiB are four windows. The period is a quarter of 100 ms, plus two ticks and 32 × 5 µs: scans after
    // 100, 133, 166 and 199 ms of run time. No granule remains, so that the fourth scan ends the pass.
    let tunables = [&QUICK[..], &[("sched.numa_balancing.scan_size_mb", 2)]].concat();
    let after = |window_ms| run("linux-4.5", walker(8, &[&[12]], window_ms), config(&tunables)).counters;
    for (window_ms, scans) in [(120, 1), (150, 2), (185, 3), (220, 4)] {
        let counters = after(window_ms);
        assert_eq!((counters.numa_scans, pages(&counters)), (scans, [scans * 512, scans * 512, 0, 0]));
    }
}

#[test]
fn without_effect_when_off_and_on_a_machine_with_one_node() {
    let busy = || walker(8, &[&[12], &[]], 300);
    let off = run("linux-5.14", busy(), config(&[("kernel.numa_balancing", 0)]));
    let mut without = kernel("linux-5.14").unwrap();
    without.tunables.retain(|name, _| !name.contains("numa"));
    let xeon = machine("xeon-e5-2670v3").unwrap();
    let bare = Config { tunables: Vec::new(), ..config(&[]) };
    let plain = Simulation::new(xeon, without, Plan::new(busy()).unwrap(), bare).unwrap().run().unwrap();
    assert_eq!(pages(&off.counters), [0; 4]);
    assert!(off == plain, "the outcomes must be equal");
    let single_node = |on| {
        let tunables = [("kernel.numa_balancing", on), ("sched.numa_balancing.scan_delay_ms", 0)];
        run_on(machine("i7-3770").unwrap(), "linux-4.5", walker(1, &[&[1]], 100), config(&tunables))
    };
    assert!(single_node(0) == single_node(1), "a single node needs no NUMA balancing");
}

#[test]
fn numa_balancing_can_be_switched_while_the_machine_runs() {
    let change =
        |at_ms: u64, value| Change { at_ns: at_ms * MS, tunable: "kernel.numa_balancing".to_owned(), value };
    let with = |first, changes| {
        let tunables = [&QUICK[..], &[("kernel.numa_balancing", first)]].concat();
        run("linux-4.5", walker(1, &[&[12]], 600), Config { changes, ..config(&tunables) }).counters
    };
    // On at 300 ms: the task has run for longer than the delay, so that the next tick scans; three scans until 600 ms.
    assert_eq!(with(0, vec![change(300, 1)]).numa_scans, 3);
    // Off at 150 ms, after one scan: no page moves after that.
    assert_eq!(pages(&with(1, vec![change(150, 0)])), [256, 256, 0, 0]);
    assert_eq!(pages(&with(1, vec![change(10, 0)])), [0; 4]);
}

#[test]
fn memory_bound_to_a_node_is_not_scanned() {
    let bound = Attributes { memory_node: Some(0), ..Attributes::default() };
    let config = Config { groups: BTreeMap::from([("a".to_owned(), bound)]), ..config(&QUICK) };
    assert_eq!(pages(&run("linux-4.5", walker(1, &[&[12]], 350), config).counters), [0; 4]);
}

#[test]
fn a_scan_delay_saves_short_tasks_the_cost_and_long_remote_tasks_gain() {
    // Images that fill 4 MiB and compute 20 ms, one after the other.
    let image = Image::Work { ns: (20 * MS).into(), bytes: (4 * MIB).into(), files: 0u64.into() };
    let body = vec![times(20u64, vec![fork(vec![Op::Exec { image }]), wait_all()])];
    let short = || program(vec![group("a", 1, Mode::Process, body.clone())], MIB, Scope::Task, 0);
    let with = |program: Program, value: i64, delay: i64| {
        let tunables = [("kernel.numa_balancing", value), ("sched.numa_balancing.scan_delay_ms", delay)];
        run("linux-4.5", program, config(&tunables))
    };
    let elapsed = |outcome: &Outcome| outcome.observed.elapsed_ns;
    let (off, at_once, slow) = (with(short(), 0, 1000), with(short(), 1, 0), with(short(), 1, 1000));
    assert!(elapsed(&at_once) > elapsed(&off) * 102 / 100, "{} {}", elapsed(&at_once), elapsed(&off));
    assert_eq!((elapsed(&slow), slow.counters.numa_pte_updates), (elapsed(&off), 0));
    // 64 MiB, which is more than the capacity of the caches, walked 600 times on the wrong node.
    let long = || {
        let body = vec![on(&[0]), touch(64 * MIB), on(&[12]), on(&[]), times(600u64, vec![touch(64 * MIB)])];
        program(vec![group("a", 1, Mode::Process, body)], 64 * MIB, Scope::Task, 0)
    };
    let (off, slow) = (with(long(), 0, 1000), with(long(), 1, 1000));
    assert!(elapsed(&slow) < elapsed(&off) * 95 / 100, "{} {}", elapsed(&slow), elapsed(&off));
}

/// The Xeon with two CPUs in each of its nodes: so few that every event is checked.
fn small_machine() -> Machine {
    let mut small = machine("xeon-e5-2670v3").unwrap();
    (small.cores_per_cache, small.threads_per_core) = (2, 1);
    small
}

/// Four processes of 18 ms inherit 100 pages and write 30 of them at their end. Without a delay each process is scanned at its first
/// tick; the main task, which ends its forks before its first tick, marks nothing. The pages are on node 0, where two processes run.
/// Later kernels spare pages that processes share.
#[test]
fn processes_take_hinting_faults_on_the_inherited_pages_that_they_write() {
    let small = small_machine();
    let counters = |kernel_name: &str, delay_ms| {
        let processes = vec![group("a", 4, Mode::Process, vec![compute(18 * MS)])];
        let main_memory = MainMemory { mappings: 10, pages: 100, written: 30 };
        let forking = Program { main_memory, ..program(processes, MIB, Scope::Task, 0) };
        let tunables = [
            ("sched.numa_balancing.scan_delay_ms", delay_ms),
            ("sched.numa_balancing.scan_period_min_ms", 1000),
        ];
        run_on(small.clone(), kernel_name, forking, config(&tunables)).counters
    };
    let (at_once, later, spared) =
        (counters("linux-4.5", 0), counters("linux-4.5", 1000), counters("linux-5.14", 0));
    assert_eq!(pages(&at_once), [4 * 100, 4 * 30, 2 * 30, 0]);
    assert_eq!((pages(&later), pages(&spared)), ([0; 4], [0; 4]));
    assert_eq!([at_once.page_faults, later.page_faults], [4 * 30; 2]);
    assert_eq!(at_once.vmstat.pgalloc_normal, at_once.vmstat.pgfree);
}

/// A fork takes longer than a tick, so that the main task is scanned during its first fork and marks its 100 pages. All four processes
/// inherit the marks, and each faults on the 30 pages that it writes.
#[test]
fn forks_copy_the_marks_of_inherited_pages() {
    let mut slow = small_machine();
    (slow.costs.fork, slow.costs.exit) = (5_000_000, 0);
    let main_memory = MainMemory { mappings: 10, pages: 100, written: 30 };
    let processes = vec![group("a", 4, Mode::Process, vec![compute(MS)])];
    let forking = Program { main_memory, ..program(processes, MIB, Scope::Task, 0) };
    let tunables =
        [("sched.numa_balancing.scan_delay_ms", 0), ("sched.numa_balancing.scan_period_min_ms", 1000)];
    let bare = Attributes { footprint_kib: Some(0), ..Attributes::default() };
    let config = Config { main: bare, ..config(&tunables) };
    let counters = run_on(slow, "linux-4.5", forking, config).counters;
    assert_eq!((counters.numa_pte_updates, counters.numa_hint_faults), (100, 4 * 30));
}
