use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use crate::{Config, Simulation};
use crate::{kernel, machine};

/// `update_avg()`: a search moves the average of its CPU by an eighth of the difference, up or down.
#[test]
fn average_cost_of_a_search_moves_by_an_eighth_of_the_difference() {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-5.14").unwrap());
    let simulation = Simulation::new(machine, kernel, plan, Config::default()).unwrap();
    simulation.with_engine(|engine| {
        engine.boot();
        engine.rq.idle.remove(0);
        let (_, scanned) = engine.select_idle_cpu(0, 0, 0);
        let cost = scanned as u64 * u64::from(engine.costs.idle_scan_cpu);
        assert!(cost >= 8);
        for (before, after) in [(0, cost / 8), (cost, cost), (cost + 80, cost + 70)] {
            engine.cpus[0].avg_search = before;
            engine.select_idle_sibling(0, 0, 0, 0);
            assert_eq!(engine.cpus[0].avg_search, after);
        }
    });
}
