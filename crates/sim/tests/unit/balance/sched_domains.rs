use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::SchedDomains;
use crate::machine::{CpuMask, Domains, Topology};
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// The limits of the domains of several nodes of CPU 0, narrow to wide.
fn limits(machine_name: &str) -> Vec<u64> {
    let machine = machine(machine_name).unwrap();
    let topology = Topology::new(&machine);
    let open = CpuMask::first_cpus(topology.cpus());
    let domains = SchedDomains::new(&Domains::new(&machine, &topology, false), &topology, &open, false);
    let of_cpu = domains.of_cpu[0].iter().map(|at| domains.all[usize::from(*at)].numa_limit);
    of_cpu.filter(|limit| *limit > 0).collect()
}

#[test]
fn nodes_may_differ_by_their_caches_or_an_eighth_of_their_cpus() {
    // Nodes of eight caches; nodes of 32 CPUs, and two, three and four of them; nodes of 24 CPUs.
    assert_eq!(limits("epyc-7713"), [8]);
    assert_eq!(limits("kunpeng920"), [4, 4, 8]);
    assert_eq!(limits("xeon-e5-2670v3"), [3]);
    assert!(limits("laptop-4").is_empty());
}

#[test]
fn isolation_leaves_no_domains_of_a_single_group() {
    let plan = Plan::new(Yielding::default().program().unwrap()).unwrap();
    let config = Config { command_line: "isolcpus=12-23,36-47".to_owned(), ..Config::default() };
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-5.14").unwrap());
    Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
        // Node 1 is isolated: node 0 keeps its cores and its cache.
        let domains = &engine.balance.domains;
        assert_eq!([0, 12].map(|cpu| domains.of_cpu[cpu].len()), [2, 0]);
        assert!(!domains.spans_nodes(0));
    });
}
