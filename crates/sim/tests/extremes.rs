//! Invalid and extreme input gives an error that names the field, or a result. Deadlocks and tunables out of range are in
//! `mechanisms.rs`.

use std::collections::BTreeMap;

use schedlab_sim::{
    Account, Attributes, Config, End, Kernel, Machine, Outcome, SimError, Simulation, kernel, machine,
};
use schedlab_workload::Plan;
use schedlab_workload::library::hackbench::Hackbench;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::program::Program;

fn run(machine: Machine, program: Program, config: Config) -> Result<Outcome, SimError> {
    Simulation::new(machine, kernel("linux-6.12").unwrap(), Plan::new(program).unwrap(), config)?.run()
}

fn messages() -> Program {
    Hackbench { groups: 1, fds: 2, loops: 20, ..Default::default() }.program().unwrap()
}

#[test]
fn machine_without_cpus_is_refused_with_the_field_that_is_0() {
    for (field, change) in [
        ("sockets", (|machine| machine.sockets = 0) as fn(&mut Machine)),
        ("nodes_per_socket", |machine| machine.nodes_per_socket = 0),
        ("caches_per_node", |machine| machine.caches_per_node = 0),
        ("cores_per_cache", |machine| machine.cores_per_cache = 0),
        ("threads_per_core", |machine| machine.threads_per_core = 0),
    ] {
        let mut none = machine("laptop-4").unwrap();
        change(&mut none);
        let text = run(none, messages(), Config::default()).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("machine `laptop-4`, {field}: 0 makes a machine without")),
            "{text}"
        );
    }
}

#[test]
fn clusters_that_do_not_divide_the_cores_of_a_cache_are_refused() {
    // laptop-4 has four cores under its cache.
    for (cores, valid) in [(0, false), (1, false), (2, true), (3, false), (4, false), (8, false)] {
        let mut clustered = machine("laptop-4").unwrap();
        clustered.cores_per_cluster = Some(cores);
        let checked = clustered.check().map_err(|error| error.to_string());
        let expected = format!(
            "machine `laptop-4`, cores_per_cluster: clusters of {cores} do not divide the 4 cores of a last-level cache"
        );
        assert_eq!(checked.is_ok(), valid, "{checked:?}");
        assert!(valid || checked.unwrap_err().starts_with(&expected), "{expected}");
    }
}

#[test]
fn cost_above_a_second_is_refused_with_its_name() {
    let mut dear = machine("laptop-4").unwrap();
    dear.costs.unix = 1_000_000_000;
    assert!(run(dear.clone(), messages(), Config::default()).is_ok());
    dear.costs.wakeup.far = 1_000_000_001;
    let text = run(dear, messages(), Config::default()).unwrap_err().to_string();
    assert!(text.contains("costs.wakeup: is more than 1000000000"), "{text}");
}

#[test]
fn machine_without_progress_and_machine_too_large_are_refused() {
    for (change, expected) in [
        // 4 ms of work in a tick every 4 ms.
        (
            (|it| it.costs.tick = 4_000_000) as fn(&mut Machine),
            "costs.tick: 4000000 at 250 Hz leaves no time",
        ),
        (|it| it.costs.syscall = 0, "costs.syscall: is at least 1"),
        (|it| it.sockets = 65, "sockets: 65 nodes are more than the 64 supported"),
        (|it| it.memory_mib = u64::MAX, "memory_mib: 18446744073709551615 is more than 4294967296"),
    ] {
        let mut wrong = machine("laptop-4").unwrap();
        change(&mut wrong);
        let text = run(wrong, messages(), Config::default()).unwrap_err().to_string();
        assert!(text.starts_with(&format!("machine `laptop-4`, {expected}")), "{text}");
    }
    let mut most = machine("laptop-4").unwrap();
    (most.costs.tick, most.costs.syscall, most.sockets, most.memory_mib) = (3_900_000, 1, 64, 1 << 32);
    assert_eq!(run(most, messages(), Config::default()).unwrap().end, End::Finished);
}

#[test]
fn kernel_file_with_values_that_cannot_be_simulated_is_refused() {
    let file = include_str!("../models/kernels/linux-6.12.toml");
    let with = |line: &str, other: &str| {
        assert!(file.contains(line), "{line}");
        Kernel::from_toml(&file.replace(line, other)).unwrap_err().to_string()
    };
    let interval = "\"vm.stat_interval\" = { default = 1, min = 1, max = 2000000 }";
    let text = with(interval, "\"vm.stat_interval\" = { default = 0, min = 0, max = 9 }");
    assert_eq!(
        text,
        "kernel definition: tunable `vm.stat_interval`: the range is not within 1 to 4294967296"
    );
    let text = with(interval, "\"vm.stat_interval\" = { default = 1, min = 1, max = 4294967297 }");
    assert!(text.contains("is not within 1 to 4294967296"), "{text}");
    let text = with("\nimbalance_pct = 117", "\nimbalance_pct = 99");
    assert!(text.contains("domains: imbalance_pct = 99 is not between 100 and 10000"), "{text}");
    let delay = "\"sched.numa_balancing.scan_delay_ms\" = { default = 1000, min = 0, max = 2147483647 }";
    let text =
        with(delay, "\"sched.numa_balancing.scan_delay_ms\" = { default = 0, min = -5000000000, max = 9 }");
    assert!(text.contains("is not within -4294967296 to 4294967296"), "{text}");
    // Without averages nobody would set the limit of the search.
    let text = with("\ncpu_load = \"average\"", "\ncpu_load = \"weights\"");
    assert!(text.contains("`idle_search = \"utilisation\"` needs averages"), "{text}");
    // 2.5.59 has no scheduling domains.
    let domains = include_str!("../models/kernels/linux-2.5.59.toml").replacen(
        "policy =",
        "clusters = \"domains\"\npolicy =",
        1,
    );
    let text = Kernel::from_toml(&domains).unwrap_err().to_string();
    assert!(text.contains("`clusters` has no meaning under the policy o1"), "{text}");
}

#[test]
fn a_footprint_of_10_gib_is_simulated() {
    for group in ["sender", "receiver"] {
        let attributes = Attributes { footprint_kib: Some(10 << 20), ..Attributes::default() };
        let groups = BTreeMap::from([(group.to_owned(), attributes)]);
        let outcome = run(machine("laptop-4").unwrap(), messages(), Config { groups, ..Config::default() });
        let outcome = outcome.unwrap();
        assert_eq!(outcome.end, End::Finished);
        assert!(outcome.ledger.total(Account::Cache) > 0);
    }
    // The same size as private memory that a task walks through.
    let walks = Schedbench { processes: 1, memory_mib: 10 << 10, walks: 1, ..Default::default() };
    let outcome = run(machine("kunpeng920").unwrap(), walks.program().unwrap(), Config::default()).unwrap();
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(outcome.counters.page_faults, (10 << 30) / 4096);
}
