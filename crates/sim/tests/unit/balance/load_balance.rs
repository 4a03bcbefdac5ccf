use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use crate::{Config, Simulation};
use crate::{kernel, machine};

/// A simulation of a machine under 6.12 with a single task, which has not begun.
fn simulation(machine_name: &str) -> Simulation {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel("linux-6.12").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap()
}

#[test]
fn periodic_balancing_limits_the_search_by_the_utilisation() {
    simulation("i7-3770").with_engine(|engine| {
        let width = engine.balance.domains.caches[0].width;
        engine.balance.domains.caches[0].scan_limit = 1;
        engine.update_idle_cpu_scan(0, width - 1);
        assert_eq!(engine.balance.domains.caches[0].scan_limit, 1, "the domain is not the cache");
        engine.update_idle_cpu_scan(0, width);
        assert_eq!(engine.balance.domains.caches[0].scan_limit, width + 1, "all CPUs are idle");
        // At 50 % a wake-up scans 8 × (1 − (0.5 × 1.17)²) = 5.3 CPUs and the target. At 86 % it scans no CPU.
        for (util, limit) in [(0, 9), (512, 6), (880, 0), (1024, 0)] {
            engine.balance.domains.caches[0].update_scan_limit(util * 8, 117);
            assert_eq!(engine.balance.domains.caches[0].scan_limit, limit, "utilisation {util}");
        }
    });
}
