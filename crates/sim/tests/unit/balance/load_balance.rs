use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::CpuIdleType;
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

#[test]
fn a_balanced_pass_ends_the_failures_and_doubles_the_interval_once() {
    for (kernel_name, newidle_doubles) in [("linux-4.5", true), ("linux-6.12", false)] {
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine("i7-3770").unwrap(), kernel(kernel_name).unwrap());
        Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
            let least = engine.min_interval(0, 0);
            for (idle, doubles) in [(CpuIdleType::Newidle, newidle_doubles), (CpuIdleType::Busy, true)] {
                (engine.cpus[0].domains[0].interval, engine.cpus[0].domains[0].failed) = (least, 3);
                for _ in 0..2 {
                    engine.note_balanced(0, 0, idle);
                    let state = &engine.cpus[0].domains[0];
                    let expected = if doubles { 2 * least } else { least };
                    assert_eq!((state.interval, state.failed), (expected, 0), "{kernel_name} {idle:?}");
                }
            }
        });
    }
}
