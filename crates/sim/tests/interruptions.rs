//! Interruptions of a CPU: their parts sum to their length, and each has its causes by name.

use std::collections::BTreeMap;

use schedlab_sim::{Attributes, Config, Interruption, Interruptions, Kernel, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::Workload;
use schedlab_workload::library::busyloop::BusyLoop;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Isolated CPU, which has no ticks while a single task runs.
const CPU: usize = 3;

fn simulation(kernel: Kernel, shepherd: i64, command_line: &str, seconds: u64) -> Simulation {
    let busy =
        BusyLoop { threshold_ns: 1, warmup_ns: SECOND, duration_ns: seconds * SECOND, ..BusyLoop::default() };
    let plan = Plan::new(busy.build().expect("a program")).expect("a plan");
    let on = Attributes { cpus: Some([CPU].into_iter().collect()), ..Attributes::default() };
    let config = Config {
        tunables: vec![("vm.stat_shepherd".to_owned(), shepherd)],
        command_line: command_line.to_owned(),
        groups: [("looper".to_owned(), on)].into(),
        ..Config::default()
    };
    Simulation::new(machine("laptop-4").expect("a machine"), kernel, plan, config).expect("a simulation")
}

fn interruptions(shepherd: i64, command_line: &str, seconds: u64) -> Vec<Interruption> {
    let simulation = simulation(kernel("linux-6.12").expect("a kernel"), shepherd, command_line, seconds);
    let mut observer = Interruptions::new(&[CPU], SECOND, (1 + seconds) * SECOND);
    simulation.run_observed(&mut observer).expect("an outcome");
    observer.into_all()
}

fn counts(interruptions: &[Interruption]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for part in interruptions.iter().flat_map(|each| &each.parts) {
        *counts.entry(part.cause.name()).or_default() += 1;
    }
    counts
}

const QUIET: &str = "isolcpus=3 nohz_full=3";

#[test]
fn a_periodic_worker_is_named_once_per_second_and_disappears_under_the_shepherd() {
    let periodic = counts(&interruptions(0, QUIET, 5));
    assert_eq!(periodic["vmstat_update"], 5);
    assert_eq!(periodic["timer interrupt"], 5);
    assert_eq!(periodic.get("tick"), None);
    assert!(interruptions(1, QUIET, 5).is_empty());
}

#[test]
fn a_cpu_with_ticks_is_interrupted_by_each_tick() {
    let ticks = counts(&interruptions(1, "", 2));
    let per_second = ticks["tick"] / 2;
    assert!((249..=251).contains(&per_second), "{per_second} ticks per second of 250");
}

#[test]
fn observing_interruptions_changes_no_outcome() {
    let simulation = simulation(kernel("linux-6.12").expect("a kernel"), 0, "", 1);
    let mut observer = Interruptions::new(&[CPU], 0, u64::MAX);
    let observed = simulation.run_observed(&mut observer).expect("an outcome");
    let alone = simulation.run().expect("an outcome");
    assert_eq!(observed.digest(), alone.digest());
    let lost: u64 = observer.into_all().iter().flat_map(|each| &each.parts).map(|part| part.ns).sum();
    assert!(lost > 0);
}

#[test]
fn interruptions_of_a_cpu_do_not_overlap_and_their_neighbouring_parts_differ() {
    let all = interruptions(0, "", 2);
    for (one, next) in all.iter().zip(&all[1..]) {
        let length: u64 = one.parts.iter().map(|part| part.ns).sum();
        assert!(length > 0 && one.at + length <= next.at);
        assert!(one.parts.windows(2).all(|pair| pair[0].cause != pair[1].cause));
    }
}
