//! Statistics of virtual memory: folding by workers and by the shepherd, and its noise on isolated CPUs. Debug builds check
//! after every event that global counters and differentials sum to the true count.

use std::collections::BTreeMap;

use proptest::prelude::*;
use schedlab_sim::machine::Costs;
use schedlab_sim::{
    Account, Attributes, Birth, Change, Config, Kernel, Observer, Outcome, Simulation, kernel, machine,
};
use schedlab_workload::Plan;
use schedlab_workload::library::busyloop::BusyLoop;
use schedlab_workload::program::{
    Expr, Image, Mode, Op, Pattern, Program, Quantity, Resources, Scope, TaskGroup, compute, fork, group,
    higher, region, times, wait_all,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Isolated CPU, which has no ticks while a single task runs.
const ISOLATED: usize = 3;

const KERNELS: [&str; 3] = ["linux-4.5", "linux-5.14", "linux-6.12"];

fn program(groups: Vec<TaskGroup>) -> Program {
    Program {
        resources: Resources {
            regions: vec![region("memory", 64 << 20, Scope::Program)],
            ..Resources::default()
        },
        counters: vec!["turns".to_owned()],
        groups,
        metrics: vec![higher("turns", "1", Quantity::Total("turns".to_owned()), 1.0)],
        ..Program::named("test")
    }
}

fn works(name: &str, body: Vec<Op>) -> TaskGroup {
    group(name, 1, Mode::Process, body)
}

fn sleep(ns: u64) -> Op {
    Op::Sleep { ns: ns.into() }
}

/// Touch `pages` pages of the region from page `from` on.
fn touch(from: u64, pages: u64) -> Op {
    Op::Touch {
        region: "memory".into(),
        offset: Expr::Const(from * 4096),
        bytes: Expr::Const(pages * 4096),
        stride: 64,
        pattern: Pattern::Sequential,
        write: true,
    }
}

fn on(cpu: usize) -> Attributes {
    Attributes { cpus: Some([cpu].into_iter().collect()), ..Attributes::default() }
}

/// A configuration with groups bound to CPUs, and `vm.stat_shepherd` and `vm.stat_interval` (in seconds).
fn config<const N: usize>(groups: [(&str, usize); N], shepherd: bool, interval: i64) -> Config {
    let groups: BTreeMap<_, _> = groups.into_iter().map(|(name, cpu)| (name.to_owned(), on(cpu))).collect();
    let tunables =
        vec![("vm.stat_shepherd".to_owned(), i64::from(shepherd)), ("vm.stat_interval".to_owned(), interval)];
    Config { groups, tunables, ..Config::default() }
}

fn isolated(config: Config) -> Config {
    Config { command_line: format!("isolcpus={ISOLATED} nohz_full={ISOLATED}"), ..config }
}

fn simulation(kernel_name: &str, program: Program, config: Config) -> Simulation {
    let (machine, kernel) = (machine("laptop-4").unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap()
}

fn run(kernel_name: &str, program: Program, config: Config) -> Outcome {
    simulation(kernel_name, program, config).run().unwrap()
}

/// Observer of kernel work and switches on a CPU within a time span.
#[derive(Default)]
struct Watch {
    cpu: usize,
    from: u64,
    until: u64,
    /// Begin, account and duration in ns.
    kernel: Vec<(u64, Account, u64)>,
    switches: Vec<u64>,
    created: Vec<String>,
}

impl Watch {
    fn new(cpu: usize, from: u64, until: u64) -> Self {
        Self { cpu, from, until, ..Self::default() }
    }

    fn of(&self, account: Account) -> Vec<u64> {
        self.kernel.iter().filter(|entry| entry.1 == account).map(|entry| entry.0).collect()
    }
}

impl Observer for Watch {
    fn created(&mut self, _: u64, _: usize, birth: Birth<'_>) {
        self.created.push((birth.name)());
    }

    fn switched(&mut self, at: u64, cpu: usize, _: Option<u32>, _: Option<u32>) {
        if cpu == self.cpu && (self.from..self.until).contains(&at) {
            self.switches.push(at);
        }
    }

    fn spent(&mut self, from: u64, cpu: usize, account: Account, ns: u64) {
        let program_or_idle = account.is_user() || account == Account::Idle;
        if cpu == self.cpu && (self.from..self.until).contains(&from) && !program_or_idle && ns > 0 {
            self.kernel.push((from, account, ns));
        }
    }
}

fn observe(kernel_name: &str, program: Program, config: Config, mut watch: Watch) -> (Outcome, Watch) {
    let outcome = simulation(kernel_name, program, config).run_observed(&mut watch).unwrap();
    (outcome, watch)
}

/// A task that computes for `seconds` on the isolated CPU.
fn hog(seconds: u64) -> Program {
    program(vec![works("hog", vec![compute(seconds * SECOND)])])
}

#[test]
fn the_shepherd_leaves_a_quiet_cpu_alone_for_sixty_seconds() {
    for kernel_name in KERNELS {
        let watch = Watch::new(ISOLATED, 100 * MS, 60 * SECOND);
        let config = isolated(config([("hog", ISOLATED)], true, 1));
        let (outcome, watch) = observe(kernel_name, hog(61), config, watch);
        assert_eq!((watch.kernel, watch.switches), (vec![], vec![]), "{kernel_name}");
        // The shepherd checked in every interval, and other CPUs had differentials to fold.
        let counted = outcome.counters.vmstat;
        assert!((60..=62).contains(&counted.looks), "{kernel_name}: {counted:?}");
        assert!(counted.started > 0 && counted.folds > 0, "{kernel_name}: {counted:?}");
        assert_eq!(counted.updates, counted.started + counted.idle_updates, "{kernel_name}: {counted:?}");
        assert!(counted.quiet_ns > 4 * 58 * SECOND, "{kernel_name}: {counted:?}");
        assert!(outcome.ledger.of(0, Account::Vmstat) > 0);
        assert_eq!(outcome.ledger.of(ISOLATED, Account::Vmstat), 0);
    }
}

#[test]
fn a_periodic_worker_interrupts_every_busy_cpu_each_interval() {
    for (interval, expected) in [(1, 20), (5, 4)] {
        for kernel_name in KERNELS {
            let watch = Watch::new(ISOLATED, 100 * MS, 20 * SECOND);
            let config = isolated(config([("hog", ISOLATED)], false, interval));
            let (outcome, watch) = observe(kernel_name, hog(21), config, watch);
            let folds = watch.of(Account::Vmstat);
            assert!(folds.len().abs_diff(expected) <= 1, "{kernel_name}, {interval} s: {}", folds.len());
            // Each fold takes one interrupt, a switch to the worker, and a switch back.
            assert_eq!(watch.of(Account::Timer).len(), folds.len());
            assert_eq!(watch.switches.len(), 2 * folds.len());
            assert_eq!(outcome.counters.vmstat.looks, 0);
            // Timers are rounded to full seconds, so that folds are an interval apart, except for the worker's wake-up latency.
            for pair in folds.windows(2) {
                assert!((pair[1] - pair[0]).abs_diff(interval as u64 * SECOND) < 20 * MS, "{folds:?}");
            }
        }
    }
}

#[test]
fn a_worker_runs_as_a_thread_that_is_bound_to_its_cpu() {
    let watch = Watch::new(ISOLATED, 0, 3 * SECOND);
    let (outcome, watch) =
        observe("linux-5.14", hog(3), isolated(config([("hog", ISOLATED)], false, 1)), watch);
    assert!(watch.created.contains(&format!("kworker/{ISOLATED}:vmstat")), "{:?}", watch.created);
    // The worker is not a task of the program, so that the program's times exclude it.
    assert!(outcome.observed.user_ns.abs_diff(3 * SECOND) < MS, "{}", outcome.observed.user_ns);
    assert_eq!(outcome.tasks.len(), 1);
    let vmstat = outcome.ledger.of(ISOLATED, Account::Vmstat);
    assert!(vmstat >= 2 * u64::from(machine("laptop-4").unwrap().costs.vmstat_fold), "{vmstat}");
}

#[test]
fn a_cpu_that_starts_to_change_counters_again_is_folded_within_two_intervals() {
    for interval in [1, 3] {
        for seed in 0..6 {
            // Quiet for 10 s, then 20 pages. The threshold on this machine is at least 2 × 3 × (1 + 7) = 48.
            let body = vec![compute(10 * SECOND), touch(0, 20), compute(3 * interval * SECOND)];
            let config = Config { seed, ..isolated(config([("hog", ISOLATED)], true, interval as i64)) };
            let watch = Watch::new(ISOLATED, 9 * SECOND, 10 * SECOND + 2 * interval * SECOND);
            let (outcome, watch) = observe("linux-4.5", program(vec![works("hog", body)]), config, watch);
            let (faults, folds) = (watch.of(Account::Fault), watch.of(Account::Vmstat));
            assert_eq!(faults.len(), 1);
            let first = *folds.first().expect("the counters are folded within two intervals");
            assert!(
                first > faults[0] && first - faults[0] <= 2 * interval * SECOND,
                "seed {seed}: {folds:?}"
            );
            let pages = outcome.vmstat.iter().find(|item| item.name == "nr_anon_pages").unwrap();
            assert_eq!((pages.global, pages.differentials[ISOLATED]), (20, 0));
        }
    }
}

#[test]
fn a_worker_that_finds_nothing_to_do_hands_its_cpu_back() {
    // The task touches pages in the first three seconds only. The worker folds during this time, finds nothing to fold in
    // the next interval, and stops.
    let page = Op::Touch {
        region: "memory".into(),
        offset: Expr::loop_index(0) * 4096u64,
        bytes: Expr::Const(4096),
        stride: 64,
        pattern: Pattern::Sequential,
        write: true,
    };
    let body = vec![times(30u64, vec![page, compute(100 * MS)]), compute(17 * SECOND)];
    let watch = Watch::new(ISOLATED, 0, 20 * SECOND);
    let (_, watch) = observe(
        "linux-5.14",
        program(vec![works("hog", body)]),
        isolated(config([("hog", ISOLATED)], true, 1)),
        watch,
    );
    let folds = watch.of(Account::Vmstat);
    assert!((4..=5).contains(&folds.len()), "{folds:?}");
    assert!(folds.last() < Some(&(5 * SECOND + 100 * MS)), "{folds:?}");
}

#[test]
fn a_differential_over_the_threshold_is_folded_at_once() {
    // 1000 pages at once, long before the next interval: only the rest below the threshold is not folded.
    let body = vec![compute(MS), touch(0, 1000), compute(MS)];
    let mut config = isolated(config([("hog", ISOLATED)], true, 1000));
    config.horizon_ns = Some(500 * MS);
    let outcome = run("linux-6.12", program(vec![works("hog", body)]), config);
    assert_eq!(outcome.counters.vmstat.updates, 0);
    let pages = outcome.vmstat.iter().find(|item| item.name == "nr_anon_pages").unwrap();
    let rest = pages.differentials[ISOLATED];
    assert_eq!(pages.global + rest, 1000);
    // 16 GiB in one zone and four CPUs: 2 × 3 × (1 + 8) = 54; so 1000 = 18 × 55 + 10.
    assert_eq!((outcome.counters.vmstat.overflows >= 18, rest), (true, 10), "{:?}", outcome.counters.vmstat);
}

#[test]
fn periodic_workers_do_not_wake_idle_cpus() {
    // CPU 2 works for 50 ms at the beginning and after 30 s. The CPU is idle for 30 intervals in between.
    let body = || vec![compute(50 * MS), sleep(30 * SECOND), compute(50 * MS)];
    let config = config([("sleeper", 2)], false, 1);
    let watch = Watch::new(2, 200 * MS, 29 * SECOND);
    let (outcome, watch) =
        observe("linux-5.14", program(vec![works("sleeper", body())]), config.clone(), watch);
    assert_eq!((watch.kernel, watch.switches), (vec![], vec![]));
    // The overdue timer fires at the CPU's next activity.
    assert!(outcome.ledger.of(2, Account::Vmstat) > 0);
    let watch = Watch::new(2, 29 * SECOND, 40 * SECOND);
    let (_, watch) = observe("linux-5.14", program(vec![works("sleeper", body())]), config, watch);
    assert_eq!(watch.of(Account::Vmstat).len(), 1);
}

/// A fold without effect on a CPU without ticks: the walk, 1000 cold lines and 5500 instructions.
fn fold_ns(costs: &Costs) -> u64 {
    let of = |cost: u32| u64::from(cost);
    let line = 5 * of(costs.refill_kib.node) * of(costs.random_percent) / 1600;
    of(costs.vmstat_fold) + 1000 * line + 5500 * of(costs.instruction_ps) / 1000
}

#[test]
fn the_interval_changes_while_the_machine_runs() {
    // The interval changes from 1 s to 4 s at 20 s.
    let change = Change { at_ns: 20 * SECOND, tunable: "vm.stat_interval".to_owned(), value: 4 };
    for shepherd in [false, true] {
        let config =
            Config { changes: vec![change.clone()], ..isolated(config([("hog", ISOLATED)], shepherd, 1)) };
        let outcome = run("linux-4.5", hog(40), config);
        let counted = outcome.counters.vmstat;
        if shepherd {
            assert!(counted.looks.abs_diff(25) <= 2, "{counted:?}");
        } else {
            let folds =
                outcome.ledger.of(ISOLATED, Account::Vmstat) / fold_ns(&machine("laptop-4").unwrap().costs);
            assert!(folds.abs_diff(25) <= 2, "{folds}");
        }
    }
}

#[test]
fn the_mode_changes_while_the_machine_runs() {
    let change =
        |at: u64, value| Change { at_ns: at * SECOND, tunable: "vm.stat_shepherd".to_owned(), value };
    let config = |shepherd, changes| Config { changes, ..isolated(config([("hog", ISOLATED)], shepherd, 1)) };
    let folds = |config: Config| {
        let watch = Watch::new(ISOLATED, 100 * MS, 30 * SECOND);
        let (outcome, watch) = observe("linux-5.14", hog(31), config, watch);
        (watch.of(Account::Vmstat), outcome.counters.vmstat.looks)
    };
    let (on, looks) = folds(config(false, vec![change(10, 1)]));
    assert!(on.len().abs_diff(10) <= 1 && on.last() <= Some(&(10 * SECOND)), "{on:?}");
    assert!(looks.abs_diff(21) <= 1, "{looks}");
    let (off, looks) = folds(config(true, vec![change(10, 0)]));
    assert!(off.len().abs_diff(20) <= 1 && off.first() >= Some(&(10 * SECOND)), "{off:?}");
    assert!(looks.abs_diff(11) <= 1, "{looks}");
    let (both, looks) = folds(config(true, vec![change(10, 0), change(20, 1)]));
    assert!(both.len().abs_diff(10) <= 1, "{both:?}");
    assert!(looks.abs_diff(21) <= 2, "{looks}");
}

#[test]
fn counters_match_the_pages_and_stacks_of_the_tasks() {
    // Four processes touch 100 pages each. Each process has a kernel stack during its run time. No stack remains at the
    // end.
    let body = |task: u64| vec![touch(task * 100, 100), compute(10 * MS)];
    let groups = (0..4).map(|task| works(&format!("t{task}"), body(task))).collect();
    let outcome = run("linux-5.14", program(groups), Config::default());
    let item = |name: &str| {
        let report = outcome.vmstat.iter().find(|report| report.name == name).unwrap();
        assert_eq!(report.zones.iter().sum::<i64>(), report.global);
        report.global + report.differentials.iter().sum::<i64>()
    };
    assert_eq!(item("nr_anon_pages"), 400);
    assert_eq!(item("nr_kernel_stack"), 0);
    let counted = outcome.counters.vmstat;
    // The program's region outlives its tasks. The stacks of 4 pages are freed.
    assert_eq!((counted.pgfault, counted.pgalloc_normal, counted.pgfree), (400, 400 + 16, 16));
    let machine = machine("laptop-4").unwrap();
    assert_eq!(item("nr_free_pages"), machine.memory_mib as i64 * 256 - 400);
}

#[test]
fn a_kernel_without_folding_has_no_workers_and_refuses_their_tunables() {
    let outcome =
        run("linux-2.5.59", hog(5), Config { tunables: vec![], ..config([("hog", ISOLATED)], false, 1) });
    assert_eq!((outcome.counters.vmstat.updates, outcome.ledger.total(Account::Vmstat)), (0, 0));
    assert!(outcome.vmstat.iter().all(|report| report.differentials.iter().all(|each| *each == 0)));
    let (machine, kernel): (_, Kernel) = (machine("laptop-4").unwrap(), kernel("linux-2.5.59").unwrap());
    let refused =
        Simulation::new(machine, kernel, Plan::new(hog(1)).unwrap(), config([], true, 1)).unwrap_err();
    assert!(
        refused.to_string().contains("kernels with this tunable: linux-3.8, linux-4.5, linux-5.10"),
        "{refused}"
    );
}

fn acts() -> impl Strategy<Value = Vec<Op>> {
    let act = prop_oneof![
        (0u64..4000, 1u64..300).prop_map(|(from, pages)| vec![touch(from, pages)]),
        (1u64..700 * MS).prop_map(|ns| vec![compute(ns)]),
        (1u64..900 * MS).prop_map(|ns| vec![sleep(ns)]),
        (1u64..200).prop_map(|pages| {
            let image = Image::Work { ns: MS.into(), bytes: (pages * 4096).into(), files: 0u64.into() };
            vec![fork(vec![Op::Exec { image }]), wait_all()]
        }),
    ];
    prop::collection::vec(act, 1..10).prop_map(|acts| acts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_right_at_every_event_for_any_program_and_any_mode(
        bodies in prop::collection::vec(acts(), 1..6), kernel_at in 0..KERNELS.len(), shepherd in any::<bool>(),
        interval in 1i64..3, changes in prop::collection::vec((0u64..4000, any::<bool>(), 0i64..4), 0..4),
        alone in any::<bool>(), seed in any::<u64>(),
    ) {
        let groups = bodies.into_iter().enumerate().map(|(at, body)| works(&format!("t{at}"), body)).collect();
        let changes = changes.into_iter().map(|(at, mode, value)| {
            let (tunable, value) =
                if mode { ("vm.stat_shepherd", value % 2) } else { ("vm.stat_interval", value.max(1)) };
            Change { at_ns: at * MS, tunable: tunable.to_owned(), value }
        });
        let config = Config { seed, changes: changes.collect(), ..config([("t0", ISOLATED)], shepherd, interval) };
        let config = if alone { isolated(config) } else { config };
        let simulation = simulation(KERNELS[kernel_at], program(groups), config);
        let outcome = simulation.run().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let item = |name: &str| {
            let report = outcome.vmstat.iter().find(|report| report.name == name).unwrap();
            report.global + report.differentials.iter().sum::<i64>()
        };
        let counted = outcome.counters.vmstat;
        prop_assert_eq!(item("nr_kernel_stack"), 0);
        // Pages of images and stacks have been freed; pages of the shared region are still allocated.
        prop_assert_eq!(item("nr_anon_pages"), (counted.pgalloc_normal - counted.pgfree) as i64);
        let memory = machine("laptop-4").unwrap().memory_mib as i64 * 256;
        prop_assert_eq!(item("nr_free_pages"), memory - item("nr_anon_pages"));
        prop_assert_eq!(simulation.run().unwrap().digest(), outcome.digest());
    }
}

/// The machine's costs under the kernel, the longest gap in ns of a busy loop on the isolated CPU, and its rate of gaps of more than
/// 1 µs per second.
fn gaps(machine_name: &str, kernel_name: &str, shepherd: bool) -> (Costs, u64, f64) {
    let looped = BusyLoop { warmup_ns: SECOND, duration_ns: 10 * SECOND, ..BusyLoop::default() };
    let config = isolated(config([("looper", ISOLATED)], shepherd, 1));
    let plan = Plan::new(looped.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    let simulation = Simulation::new(machine, kernel, plan, config).unwrap();
    let outcome = simulation.run().unwrap();
    let worst = *outcome.observed.series[0].iter().max().unwrap();
    (simulation.machine().costs.clone(), worst, outcome.metrics[2].value.unwrap())
}

#[test]
fn only_periodic_workers_make_gaps_in_a_busy_loop() {
    for machine_name in ["laptop-4", "xeon-e5-2670v3", "kunpeng920"] {
        let of = |cost: u32| u64::from(cost);
        for kernel_name in KERNELS {
            // Under the shepherd the longest gap is one reading of the clock.
            let (costs, worst, number) = gaps(machine_name, kernel_name, true);
            assert_eq!((worst, number), (of(costs.clock_read), 0.0), "{machine_name} {kernel_name}");
            // With periodic workers there is one gap per second: the interrupt, the wake-up, two picks of the next task,
            // two switches and the fold. Cache refills, the search for an idle CPU and EEVDF's ticks lengthen the gap.
            let (costs, worst, number) = gaps(machine_name, kernel_name, false);
            let parts = of(costs.timer_irq)
                + of(costs.wakeup.core)
                + 2 * of(costs.schedule + costs.switch)
                + fold_ns(&costs);
            if kernel_name == "linux-6.12" {
                // The woken worker does not preempt at once, so that the interrupt is a separate gap.
                assert!(worst >= parts - of(costs.timer_irq + costs.wakeup.core), "{machine_name}: {worst}");
                assert!((1.0..6.0).contains(&number), "{machine_name}: {number}");
            } else {
                assert!((parts..2 * parts).contains(&worst), "{machine_name} {kernel_name}: {worst} {parts}");
                assert!((0.9..=1.1).contains(&number), "{machine_name} {kernel_name}: {number}");
            }
        }
    }
}

#[test]
fn each_tick_is_a_gap_of_a_busy_loop() {
    // A CPU that is not isolated has 250 ticks per second of 1200 ns, each including a reading of the clock.
    let looped = BusyLoop { warmup_ns: 0, duration_ns: SECOND, threshold_ns: 500, ..BusyLoop::default() };
    let outcome = run("linux-5.14", looped.program().unwrap(), config([("looper", 1)], true, 1000));
    let costs = machine("laptop-4").unwrap().costs;
    let counted = &outcome.observed.counters;
    assert!(counted[0].abs_diff(250) <= 6, "{counted:?}");
    assert!(counted[1] >= counted[0] * u64::from(costs.tick + costs.clock_read), "{counted:?}");
    let median = outcome.metrics[1].value.unwrap();
    assert!(
        (1.2..2.5).contains(&median),
        "{median} µs: the longest of two or three ticks in 10 ms, perhaps with balancing"
    );
}

#[test]
fn a_program_of_a_quarter_interval_meets_the_workers_in_a_quarter_of_the_seeds() {
    // The program takes 250 ms and the interval is 1 s: the expectation is 10 of 40 seeds.
    for shepherd in [false, true] {
        let meetings = (0..40).filter(|seed| {
            let body = vec![compute(250 * MS)];
            let config = Config { seed: *seed, ..config([("short", 0)], shepherd, 1) };
            let counted = run("linux-5.14", program(vec![works("short", body)]), config).counters.vmstat;
            counted.updates + counted.looks > 0
        });
        let met = meetings.count();
        assert!((4..=17).contains(&met), "{met} of 40");
    }
}
