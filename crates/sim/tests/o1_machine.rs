//! The O(1) scheduler of 2.5.59 on a machine: the times of balancing, the tasks that may be pulled, and the D7 patches.

use schedlab_sim::machine::Distance;
use schedlab_sim::{Account, Birth, Config, Machine, Observer, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::forkstorm::Forkstorm;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::kernbench::Kernbench;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::program::{Mode, Program, Quantity, compute, count, group, higher};

const MS: u64 = 1_000_000;

/// Tasks that compute and end.
fn hogs(number: u32, ms: u64) -> Program {
    Program {
        counters: vec!["turns".to_owned()],
        groups: vec![group("hog", number, Mode::Process, vec![compute(ms * MS), count("turns", 1u64)])],
        metrics: vec![higher("turns", "1", Quantity::Total("turns".to_owned()), 1.0)],
        ..Program::named("hogs")
    }
}

/// A quad with `cpus` CPUs.
fn quad(cpus: u32, hz: u32) -> Machine {
    let mut machine = machine("numa-q-16").unwrap();
    machine.sockets = 1;
    machine.caches_per_node = cpus;
    machine.hz = hz;
    machine
}

fn simulation(
    machine: Machine,
    program: Program,
    tunables: &[(&str, i64)],
    horizon_ns: Option<u64>,
) -> Simulation {
    let tunables = tunables.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let config = Config { tunables, horizon_ns, ..Config::default() };
    Simulation::new(machine, kernel("linux-2.5.59").unwrap(), Plan::new(program).unwrap(), config).unwrap()
}

fn run(program: Program, tunables: &[(&str, i64)]) -> Outcome {
    simulation(machine("numa-q-16").unwrap(), program, tunables, None).run().unwrap()
}

/// Moves of waiting tasks: time, CPUs, and the time since which the task had not run.
#[derive(Default)]
struct Moves {
    current: Vec<Option<u32>>,
    left: Vec<u64>,
    moves: Vec<(u64, usize, usize, u64)>,
}

impl Moves {
    fn leave(&mut self, task: u32, at: u64) {
        let task = task as usize;
        self.left.resize(self.left.len().max(task + 1), 0);
        self.left[task] = at;
    }
}

impl Observer for Moves {
    fn created(&mut self, at: u64, _: usize, birth: Birth<'_>) {
        self.leave(birth.task, at);
    }

    fn switched(&mut self, at: u64, cpu: usize, _: Option<u32>, to: Option<u32>) {
        self.current.resize(self.current.len().max(cpu + 1), None);
        if let Some(task) = std::mem::replace(&mut self.current[cpu], to) {
            self.leave(task, at);
        }
    }

    fn migrated(&mut self, at: u64, task: u32, from: usize, to: usize) {
        self.moves.push((at, from, to, self.left[task as usize]));
    }
}

fn moves(machine: Machine, program: Program, tunables: &[(&str, i64)]) -> Moves {
    let mut moves = Moves::default();
    simulation(machine, program, tunables, None).run_observed(&mut moves).unwrap();
    moves
}

#[test]
fn idle_cpu_balances_every_millisecond_and_busy_cpu_every_quarter_of_a_second() {
    // One task next to an idle CPU, for a second: passes at the ticks 0 to 999, and at 0, 250, 500, 750. At 100 Hz a
    // tick is 10 ms, the minimum interval of an idle CPU.
    for (hz, idle) in [(1000, 1000), (100, 100)] {
        let outcome = simulation(quad(2, hz), hogs(1, 2000), &[], Some(1000 * MS)).run().unwrap();
        let counters = &outcome.counters;
        assert_eq!((counters.idle_balance.calls, counters.busy_balance.calls), (idle, 4), "{hz} Hz");
        // Patch 05 moves the definitions of both intervals without changing them.
        let patched = [("sched.d7.05", 1)];
        let outcome = simulation(quad(2, hz), hogs(1, 2000), &patched, Some(1000 * MS)).run().unwrap();
        let counters = &outcome.counters;
        assert_eq!((counters.idle_balance.calls, counters.busy_balance.calls), (idle, 4), "{hz} Hz");
    }
}

#[test]
fn task_is_cache_hot_for_cache_decay_ticks_and_pulled_in_the_next_tick() {
    // 2048 KiB at 350 MB/s: 5 ms, which is 5 ticks at 1000 Hz, as the kernel computes at boot.
    for (ticks, decay) in [(0, 0), (1, 1), (5, 5), (20, 20), (-1, 5)] {
        let moves = moves(quad(2, 1000), hogs(3, 400), &[("sched.cache_decay_ticks", ticks)]);
        let colds = moves.moves.iter().map(|(at, _, _, left)| at / MS - left / MS);
        assert_eq!(colds.min(), Some(decay + 1), "{ticks}");
    }
}

#[test]
fn every_node_balance_rate_th_pass_is_over_another_node() {
    for rate in [20, 100] {
        let moves = moves(machine("numa-q-16").unwrap(), hogs(12, 300), &[("sched.node_balance_rate", rate)]);
        let crossing: Vec<u64> = moves
            .moves
            .iter()
            .filter(|(_, from, to, _)| from / 4 != to / 4)
            .map(|(at, ..)| at / MS)
            .collect();
        // The CPUs of the other quads balance at the ticks 0, 1, 2 …; the pass at tick rate − 1 is the first over another
        // node, and finds tasks that have waited since the start.
        assert_eq!(crossing.first().copied(), Some(rate as u64 - 1));
    }
}

#[test]
fn task_that_calls_execve_goes_to_the_least_loaded_node() {
    let parameters = Forkstorm { tasks: 6, exec: true, warmup_ns: MS, duration_ns: 40 * MS };
    let outcome = run(parameters.program().unwrap(), &[]);
    assert!(outcome.counters.spread_migrations[Distance::Far as usize] > 0, "across quads");
    let single = simulation(quad(4, 1000), parameters.program().unwrap(), &[], None).run().unwrap();
    assert_eq!(single.counters.spread_migrations, [0; Distance::COUNT]);
    assert!(single.counters.execs > 0);
}

fn programs() -> Vec<Program> {
    let hackbench =
        Hackbench { groups: 2, fds: 10, loops: 100, channel: Carrier::Pipe, ..Hackbench::default() };
    let kernbench = Kernbench { jobs: 32, directories: 3, files: 8, memory_kib: 512, ..Kernbench::default() };
    let schedbench = Schedbench { processes: 18, memory_mib: 2, walks: 4, ..Schedbench::default() };
    [hackbench.program(), kernbench.program(), schedbench.program()].map(Result::unwrap).into()
}

fn digests(tunables: &[(&str, i64)]) -> Vec<u64> {
    programs().into_iter().map(|program| run(program, tunables).digest()).collect()
}

#[test]
fn patch_02_changes_no_byte_and_every_other_patch_changes_the_outcome() {
    let base = digests(&[]);
    assert_eq!(digests(&[("sched.d7.02", 1)]), base);
    for patch in ["sched.d7.03", "sched.d7.05"] {
        assert_ne!(digests(&[(patch, 1)]), base, "{patch}");
    }
    // Patch 04 shortens waits for the lock of a queue that switches: there are many wake-ups from idle CPUs.
    let wakeups = Hackbench { groups: 4, fds: 20, loops: 50, ..Hackbench::default() };
    let of = |tunables: &[(&str, i64)]| run(wakeups.program().unwrap(), tunables).digest();
    assert_ne!(of(&[("sched.d7.04", 1)]), of(&[]));
}

const STACK: [(&str, i64); 4] =
    [("sched.d7.02", 1), ("sched.d7.03", 1), ("sched.d7.04", 1), ("sched.d7.05", 1)];

/// Digests of 2.5.59 and of 2.5.59 with all four patches, as in `golden.rs`.
const GOLDEN: [[u64; 3]; 2] = [
    [0x737c6e9fbcd989f9, 0xa2a0181dc102dfd9, 0xdfbf78924481f60c],
    [0x9594228ec062f587, 0x2a44ad15efbd4dab, 0xaa2daed19c6c2b69],
];

#[test]
fn outcomes_are_the_same_everywhere() {
    let actual = [digests(&[]), digests(&STACK)];
    assert_eq!(
        actual.each_ref().map(Vec::as_slice),
        GOLDEN.each_ref().map(|digests| digests.as_slice()),
        "if the change of the model is intended, replace the digests by: {actual:#x?}"
    );
}

#[test]
fn wake_ups_do_not_search_an_idle_cpu() {
    let outcome = run(programs().remove(0), &[]);
    assert_eq!(outcome.ledger.total(Account::Search), 0);
    assert_eq!(outcome.counters.wake_affine, 0);
    assert!(outcome.counters.idle_balance.moved + outcome.counters.newidle_balance.moved > 0);
}
