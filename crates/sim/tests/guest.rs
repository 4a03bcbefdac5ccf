//! What a virtual machine adds to a machine: senders that pay for interrupts, noise, and speeds that differ.

use std::collections::BTreeMap;

use schedlab_sim::machine::{Noise, Speeds};
use schedlab_sim::{Account, Attributes, Class, Config, Machine, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::busyloop::BusyLoop;
use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::program::{
    Mode, Program, Quantity, Resources, Scope, compute, down, group, lower, semaphores, times, up,
};

const MS: u64 = 1_000_000;

fn pipes() -> Program {
    Pipetest { loops: 500, ..Pipetest::default() }.program().unwrap()
}

/// A machine whose CPUs are woken by interrupts, as those of most virtual machines.
fn guest() -> Machine {
    Machine { mwait: false, ..machine("laptop-4").unwrap() }
}

fn run(machine: Machine, kernel_name: &str, program: Program, cpus: Option<usize>) -> Outcome {
    let bound = Attributes { cpus: cpus.map(|cpu| [cpu].into_iter().collect()), ..Attributes::default() };
    let plan = Plan::new(program).unwrap();
    let groups: BTreeMap<_, _> =
        plan.program().groups.iter().map(|group| (group.name.clone(), bound.clone())).collect();
    let config = Config { groups, ..Config::default() };
    Simulation::new(machine, kernel(kernel_name).unwrap(), plan, config).unwrap().run().unwrap()
}

/// Each interrupt that wakes an idle CPU costs its sender `ipi_send`, and nothing else changes.
#[test]
fn senders_pay_for_their_interrupts() {
    let mut paying = guest();
    paying.costs.ipi_send = 3000;
    let (free, paid) =
        (run(guest(), "linux-6.12", pipes(), None), run(paying.clone(), "linux-6.12", pipes(), None));
    let more = paid.ledger.total(Account::Ipi) - free.ledger.total(Account::Ipi);
    let each = more as f64 / paid.counters.ipis as f64;
    assert!(
        paid.counters.ipis > 900 && free.counters.ipis > 900,
        "two wake-ups of another CPU in each round"
    );
    assert!((2900.0..3100.0).contains(&each), "{each}");
    assert!(
        paid.observed.elapsed_ns > free.observed.elapsed_ns + 500 * 2 * 2000,
        "senders lose the time, and save the work of enqueueing"
    );
    let waking = |outcome: &Outcome| outcome.ledger.total(Account::Wakeup);
    assert!(waking(&paid) * 4 < waking(&free), "an idle CPU with an empty queue enqueues the task itself");
    let bound =
        [guest(), paying].map(|machine| run(machine, "linux-6.12", pipes(), Some(1)).observed.elapsed_ns);
    assert!(bound[1] - bound[0] < 20 * 3000, "no interrupts on one CPU, but of the tasks' start");
}

/// A CPU that wakes a task on another takes the lines of the runqueue there, and the other takes them back when it schedules.
#[test]
fn runqueues_move_between_the_cpus_that_use_them() {
    let rounds = 100;
    let apart = |woken: usize| {
        let totals = [0, 2000].map(|llc| {
            let mut machine = guest();
            machine.costs.runqueue.llc = llc;
            let groups = vec![
                group("waker", 1, Mode::Process, vec![times(rounds, vec![down("go"), up("there", 1u64)])]),
                group("woken", 1, Mode::Process, vec![times(rounds, vec![down("there"), up("back", 1u64)])]),
                group(
                    "busy",
                    1,
                    Mode::Process,
                    vec![times(rounds, vec![up("go", 1u64), compute(100_000u64), down("back")])],
                ),
            ];
            let semaphores =
                ["go", "there", "back"].map(|name| semaphores(name, 1, Scope::Program, 0)).to_vec();
            let resources = Resources { semaphores, ..Resources::default() };
            let metrics = vec![lower("time", "s", Quantity::Elapsed, 1.0)];
            let plan = Plan::new(Program { groups, resources, metrics, ..Program::named("round") }).unwrap();
            let on = |cpu: usize| Attributes {
                cpus: Some([cpu].into_iter().collect()),
                class: Class::Batch,
                ..Attributes::default()
            };
            let groups = [("waker", on(woken)), ("woken", on(2)), ("busy", on(2))];
            let groups = groups.into_iter().map(|(name, each)| (name.to_owned(), each)).collect();
            let config = Config { groups, ..Config::default() };
            let outcome =
                Simulation::new(machine, kernel("linux-6.12").unwrap(), plan, config).unwrap().run().unwrap();
            outcome.ledger.total(Account::Wakeup) + outcome.ledger.total(Account::Switch)
        });
        totals[1] - totals[0]
    };
    // In each round both CPUs wake a task of the other, and both schedule afterwards. At the start the main task wakes the others.
    let (two, one) = (apart(1), apart(2));
    assert!((4 * rounds * 2000..(4 * rounds + 20) * 2000).contains(&two), "{two}");
    assert!(one < 20 * 2000, "{one}");
}

/// Noise takes its lengths at its rate from a busy CPU, and nothing from idle CPUs.
#[test]
fn noise_interrupts_busy_cpus() {
    let program =
        || BusyLoop { warmup_ns: 0, duration_ns: 400 * MS, ..BusyLoop::default() }.program().unwrap();
    let noise = Noise { mean_interval_ns: 2 * MS, lengths_ns: vec![100_000, 300_000] };
    let noisy = Machine { noise: Some(noise), ..guest() };
    let (quiet, noisy) =
        (run(guest(), "linux-6.12", program(), None), run(noisy, "linux-6.12", program(), None));
    assert_eq!(quiet.ledger.total(Account::Noise), 0);
    // 200 interruptions of 200 µs on average, on the only busy CPU.
    let taken = noisy.ledger.total(Account::Noise) as f64 / 40e6;
    assert!((0.75..1.25).contains(&taken), "{taken}");
}

#[test]
fn noise_without_lengths_is_refused() {
    let wrong = Machine { noise: Some(Noise { mean_interval_ns: MS, lengths_ns: vec![] }), ..guest() };
    assert!(wrong.check().unwrap_err().to_string().contains("noise"));
}

fn at_speeds(durations_permille: &[u32], mean_interval_ns: u64) -> Machine {
    Machine {
        speeds: Some(Speeds { mean_interval_ns, durations_permille: durations_permille.to_vec() }),
        ..guest()
    }
}

/// Computation and kernel work both take longer on a slow CPU and less on a fast one, and the ledger has the time that they take.
#[test]
fn work_takes_as_long_as_the_cores_speed_says() {
    let bound = |machine| run(machine, "linux-6.12", pipes(), Some(1));
    let same = bound(guest());
    for permille in [500, 800, 1250, 2000] {
        // An hour: the speed stays the same.
        let other = bound(at_speeds(&[permille], 3_599_000_000_000));
        let ratio = |total: &dyn Fn(&Outcome) -> u64| total(&other) as f64 / total(&same) as f64;
        let accounts = [Account::Syscall, Account::Wakeup, Account::Switch];
        for account in accounts {
            let taken = 1000.0 * ratio(&|outcome| outcome.ledger.total(account));
            assert!((taken / f64::from(permille) - 1.0).abs() < 0.02, "{permille} {account:?}: {taken}");
        }
        let elapsed = 1000.0 * ratio(&|outcome| outcome.observed.elapsed_ns);
        // Idle states at the start are left at any speed.
        assert!((elapsed / f64::from(permille) - 1.0).abs() < 0.05, "{permille}: {elapsed}");
    }
}

/// A CPU has each speed for half of the time, so that a long run has their mean.
#[test]
fn speeds_change() {
    let program = || Pipetest { loops: 20_000, ..Pipetest::default() }.program().unwrap();
    let elapsed = |machine| run(machine, "linux-6.12", program(), Some(1)).observed.elapsed_ns as f64;
    let same = elapsed(guest());
    let speed = |interval| same / elapsed(at_speeds(&[800, 1333], interval));
    let changing = speed(MS / 10);
    assert!((changing - 1.0).abs() < 0.05, "the mean of 1.25 and 0.75: {changing}");
    let constant = speed(3_599_000_000_000);
    assert!((constant - 1.25).abs() < 0.02 || (constant - 0.75).abs() < 0.02, "{constant}");
}

/// The draws are those of the seed, whatever the program does.
#[test]
fn a_seed_decides_the_speeds() {
    let speed = |seed, loops| {
        let plan = Plan::new(Pipetest { loops, ..Pipetest::default() }.program().unwrap()).unwrap();
        let cpus = Attributes { cpus: Some([1].into_iter().collect()), ..Attributes::default() };
        let groups = plan.program().groups.iter().map(|group| (group.name.clone(), cpus.clone())).collect();
        let config = Config { seed, groups, main: cpus, ..Config::default() };
        let machine = at_speeds(&[500, 2000], 3_599_000_000_000);
        let outcome =
            Simulation::new(machine, kernel("linux-6.12").unwrap(), plan, config).unwrap().run().unwrap();
        outcome.observed.elapsed_ns / loops
    };
    let slow: Vec<_> = (0..16).map(|seed| speed(seed, 500) > 4500).collect();
    assert!(slow.contains(&true) && slow.contains(&false), "{slow:?}");
    assert_eq!(slow, (0..16).map(|seed| speed(seed, 600) > 4500).collect::<Vec<_>>());
}

/// SMT siblings have the speed of their core. Beside a busy sibling both are slower, by the time in the account `smt`.
#[test]
fn siblings_have_the_speed_of_their_core() {
    let turns = |durations: &[u32], loops: u32| {
        let mut machine = at_speeds(durations, 3_599_000_000_000);
        (machine.cores_per_cache, machine.threads_per_core, machine.costs.smt_percent) = (1, 2, 60);
        let body = || vec![times(loops, vec![compute(MS)])];
        let groups = ["a", "b"].map(|name| group(name, 1, Mode::Process, body())).to_vec();
        let metrics = vec![lower("time", "s", Quantity::Elapsed, 1.0)];
        let plan = Plan::new(Program { groups, metrics, ..Program::named("siblings") }).unwrap();
        let on = |cpu: usize| Attributes { cpus: Some([cpu].into_iter().collect()), ..Attributes::default() };
        let groups = [("a", on(0)), ("b", on(1))].map(|(name, each)| (name.to_owned(), each)).into();
        let config = Config { groups, ..Config::default() };
        Simulation::new(machine, kernel("linux-6.12").unwrap(), plan, config).unwrap().run().unwrap()
    };
    for permille in [500, 800, 1250, 2000] {
        let outcome = turns(&[permille], 50);
        let both = 50.0 * f64::from(permille) / 1000.0 / 0.6;
        let elapsed = outcome.observed.elapsed_ns as f64 / MS as f64;
        assert!((elapsed / both - 1.0).abs() < 0.02, "{permille}: {elapsed} ms, not {both} ms");
        let lost = outcome.ledger.total(Account::Smt) as f64 / MS as f64;
        assert!((lost / (0.4 * 2.0 * both) - 1.0).abs() < 0.02, "{permille}: {lost}");
    }
    let ran = turns(&[500, 2000], 50).tasks.iter().map(|task| task.ran_ns).collect::<Vec<_>>();
    assert!((ran[0] as f64 / ran[1] as f64 - 1.0).abs() < 0.05, "one core, one speed: {ran:?}");
}

#[test]
fn speeds_without_a_duration_or_beyond_tenfold_are_refused() {
    for wrong in [&[][..], &[99], &[10_001], &[1200, 800]] {
        assert!(at_speeds(wrong, MS).check().unwrap_err().to_string().contains("speeds"));
    }
    assert!(at_speeds(&[1000], 0).check().unwrap_err().to_string().contains("speeds"));
    at_speeds(&[100, 10_000], 1).check().unwrap();
}
