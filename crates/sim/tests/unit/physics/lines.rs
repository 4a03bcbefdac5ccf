use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::SharedLine;
use crate::ledger::Account;
use crate::{Config, Simulation};
use crate::{kernel, machine};

#[test]
fn each_contender_waits_for_the_transfers_before_it() {
    let mut line = SharedLine::default();
    let waits: Vec<u64> = (1..5).map(|cpu| line.transfer(cpu, 100, 1000)).collect();
    assert_eq!(waits, [100, 200, 300, 400]);
    assert_eq!(line.transfer(5, 100, 1350), 150, "the queue is shorter by the time that has passed");
    assert_eq!(line.transfer(6, 100, 9000), 100, "nobody waits");
}

/// Two CPUs change the route's count at once. A reference that is taken by
/// compare-and-swap asks for the line twice, so that the CPU behind waits for three transfers, and not for two.
#[test]
fn a_reference_by_compare_and_swap_asks_twice_for_the_line() {
    let waits = |kernel_name: &str| {
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine("kunpeng920").unwrap(), kernel(kernel_name).unwrap());
        Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
            engine.hold_route(4);
            let first = engine.records.ledger.total(Account::Lines);
            engine.release_route(8);
            (first, engine.records.ledger.total(Account::Lines) - first)
        })
    };
    // CPU 0 had the line. CPUs 0, 4 and 8 are in three clusters under one cache: 50 ns.
    assert_eq!(waits("linux-4.5"), (50, 100));
    assert_eq!(waits("linux-5.14"), (100, 150));
}
