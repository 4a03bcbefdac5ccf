//! Digests of outcomes: the same seed gives the same bytes in debug and release builds and on every platform.
//!
//! A change of the model changes the digests. The same commit then replaces the old digests by the new digests, which
//! the failing test prints, so that the history shows which changes had an effect, and on which cases.

use std::sync::mpsc;

use schedlab_sim::{Config, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::kernbench::Kernbench;
use schedlab_workload::library::pgbench::{Pgbench, Script};
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::library::tbench::Tbench;
use schedlab_workload::program::Program;

const MS: u64 = 1_000_000;

fn cases() -> Vec<(&'static str, &'static str, &'static str, Program)> {
    let hackbench =
        Hackbench { groups: 2, fds: 5, loops: 20, channel: Carrier::Pipe, ..Hackbench::default() };
    let pgbench = Pgbench {
        clients: 9,
        mode: Script::ReadWrite,
        buffers_mib: 16,
        warmup_ns: MS,
        duration_ns: 30 * MS,
        ..Pgbench::default()
    };
    let kernbench = Kernbench { jobs: 20, directories: 3, files: 5, memory_kib: 512, ..Kernbench::default() };
    let tbench = Tbench { clients: 5, warmup_ns: MS, duration_ns: 30 * MS, ..Tbench::default() };
    let schedbench = Schedbench { processes: 18, memory_mib: 2, walks: 4, ..Schedbench::default() };
    vec![
        ("hackbench", "xeon-e5-2670v3", "linux-4.5", hackbench.program().unwrap()),
        ("pgbench", "kunpeng920", "linux-5.14", pgbench.program().unwrap()),
        ("kernbench", "i7-3770", "linux-6.12", kernbench.program().unwrap()),
        ("tbench", "rpi4b", "linux-5.14", tbench.program().unwrap()),
        ("schedbench", "numa-q-16", "linux-4.5", schedbench.program().unwrap()),
    ]
}

const GOLDEN: [u64; 5] =
    [0xf844bd0c496c33a2, 0xd20cc1b2275970c1, 0x59e733089ca28d40, 0xf9ceba7c8a2657c3, 0x95ea805021f09e77];

fn digest(machine_name: &str, kernel_name: &str, program: Program, seed: u64) -> u64 {
    let config = Config { seed, ..Config::default() };
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap().run().unwrap().digest()
}

#[test]
fn outcomes_are_the_same_everywhere() {
    let digests: Vec<u64> = cases()
        .into_iter()
        .map(|(_, machine, kernel, program)| digest(machine, kernel, program, 42))
        .collect();
    assert_eq!(
        digests, GOLDEN,
        "if the change of the model is intended, replace the digests by: {digests:#x?}"
    );
}

#[test]
fn equal_seeds_give_equal_outcomes_and_different_seeds_different_outcomes() {
    for (name, machine, kernel, program) in cases() {
        let of = |seed| digest(machine, kernel, program.clone(), seed);
        assert_eq!(of(7), of(7), "{name}");
        assert_ne!(of(7), of(8), "{name}");
    }
}

#[test]
fn simulations_in_several_threads_do_not_influence_each_other() {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for (at, (_, machine, kernel, program)) in cases().into_iter().enumerate() {
            let sender = sender.clone();
            scope.spawn(move || sender.send((at, digest(machine, kernel, program, 42))).unwrap());
        }
    });
    drop(sender);
    for (at, digest) in receiver {
        assert_eq!(digest, GOLDEN[at], "case {at}");
    }
}
