//! Kernel work and images have a place: lines that another CPU wrote, files, and memory on another node.

use std::collections::BTreeMap;

use schedlab_sim::kernel::SharedLines;
use schedlab_sim::machine::Distance;
use schedlab_sim::{Account, Attributes, Config, Machine, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::forkstorm::Forkstorm;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::program::{Image, Mode, Op, Program, Quantity, fork, group, lower, wait_all};

const MS: u64 = 1_000_000;

fn run(
    machine: Machine,
    kernel_name: &str,
    program: Program,
    attributes: Attributes,
    lines: bool,
) -> Outcome {
    let mut kernel = kernel(kernel_name).unwrap();
    if !lines {
        kernel.shared_lines = SharedLines::default();
    }
    let groups = program.groups.iter().map(|group| (group.name.clone(), attributes.clone()));
    let config = Config { groups: groups.collect::<BTreeMap<_, _>>(), ..Config::default() };
    Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap().run().unwrap()
}

fn image(files: u64, bytes: u64) -> Program {
    let image = Image::Work { ns: (50 * MS).into(), bytes: bytes.into(), files: files.into() };
    Program {
        groups: vec![group("a", 1, Mode::Process, vec![fork(vec![Op::Exec { image }]), wait_all()])],
        metrics: vec![lower("elapsed", "s", Quantity::Elapsed, 1.0)],
        ..Program::named("image")
    }
}

#[test]
fn image_away_from_its_memory_computes_longer() {
    let xeon = || machine("xeon-e5-2670v3").unwrap();
    let bound = |node| Attributes {
        cpus: Some([0].into_iter().collect()),
        memory_node: Some(node),
        ..Attributes::default()
    };
    let remote = |node| {
        let outcome = run(xeon(), "linux-4.5", image(0, 4 << 20), bound(node), true);
        outcome.ledger.total(Account::Remote)
    };
    assert_eq!(remote(0), 0);
    // 50 ms at 2300 MHz and 1400 cycles a line: 5133 KiB of random lines, 45 ns × 3 longer for each KiB.
    let expected = 50 * MS * 2300 / 1000 / 1400 / 16 * (140 - 95) * 3;
    assert!(remote(1).abs_diff(expected) < expected / 50, "{} {expected}", remote(1));
}

#[test]
fn reading_a_file_costs_its_calls_its_path_and_its_copy() {
    let costs = machine("laptop-4").unwrap().costs;
    let file = |files| {
        let outcome =
            run(machine("laptop-4").unwrap(), "linux-6.12", image(files, 0), Attributes::default(), true);
        outcome.ledger.total(Account::Syscall)
    };
    let path = 2500 * u64::from(costs.instruction_ps) / 1000;
    let each = 3 * u64::from(costs.syscall) + path + 6 * u64::from(costs.copy_kib);
    assert_eq!(file(10) - file(0), 10 * each);
}

#[test]
fn shared_lines_cost_only_where_another_cpu_wrote_them_last() {
    let storm =
        || Forkstorm { tasks: 8, exec: true, warmup_ns: MS, duration_ns: 100 * MS }.program().unwrap();
    let family = |cpus: u32, lines| {
        let mut machine = machine("numa-q-16").unwrap();
        if cpus == 1 {
            (machine.sockets, machine.caches_per_node) = (1, 1);
        }
        let outcome = run(machine, "linux-2.5.59", storm(), Attributes::default(), lines);
        outcome.ledger.total(Account::Family) / outcome.counters.forks.max(1)
    };
    assert_eq!(family(1, true), family(1, false));
    assert!(family(16, true) > family(16, false) * 110 / 100);
}

#[test]
fn programs_of_a_shell_spread_over_nodes_at_exec() {
    let parameters = Schedbench { processes: 8, memory_mib: 1, walks: 4, ..Schedbench::default() };
    let spread = |program: bool| {
        let mut started = parameters.program().unwrap();
        started.groups[0].program = program;
        let outcome =
            run(machine("numa-q-16").unwrap(), "linux-2.5.59", started, Attributes::default(), true);
        (outcome.counters.execs, outcome.counters.spread_migrations[Distance::Far as usize])
    };
    assert_eq!(spread(false), (0, 0));
    let (execs, far) = spread(true);
    assert_eq!(execs, 16, "`time` and the program of each process");
    assert!(far > 0);
}
