use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::ScanTunables;
use crate::sched::Enqueue;
use crate::time::{MS, SECOND};
use crate::{Config, Simulation};
use crate::{kernel, machine};

#[test]
fn periods_divide_by_the_windows_of_the_space_and_keep_to_2560_mib_a_second() {
    let scan = ScanTunables { delay: 0, period_min: SECOND, period_max: 60 * SECOND, size_mb: 256 };
    let mib = 256;
    let periods = |scan: ScanTunables, pages| (scan.task_scan_min(pages), scan.task_scan_max(pages));
    // One scan covers up to 256 MiB.
    assert_eq!(periods(scan, 0), (SECOND, 60 * SECOND));
    assert_eq!(periods(scan, 256 * mib), (SECOND, 60 * SECOND));
    // 257 MiB take two scans, 1000 MiB four.
    assert_eq!(periods(scan, 257 * mib), (500 * MS, 30 * SECOND));
    assert_eq!(periods(scan, 1000 * mib), (250 * MS, 15 * SECOND));
    // 16 GiB would take 64 scans per second; the limit is 2560 / 256 = 10.
    assert_eq!(scan.task_scan_min(16384 * mib), 100 * MS);
    // The longest period is never below the shortest.
    let upside_down = ScanTunables { period_max: MS, ..scan };
    assert_eq!(periods(upside_down, 0), (SECOND, SECOND));
    // Scans of more than 2560 MiB: one per second.
    assert_eq!(ScanTunables { size_mb: 5000, period_min: MS, ..scan }.task_scan_min(0), SECOND);
}

#[test]
fn a_thread_without_faults_stays_off_its_inherited_preferred_node_until_its_first_fault() {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-5.14").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        engine.boot();
        let main = engine.gate.main;
        engine.numa.prefer(main, 1);
        engine.numa.born(main + 1, Some(main), 0);
        assert_eq!(engine.numa.preferred_node(main + 1), Some(1));
        engine.numa.died(main + 1);
        engine.numa.born(main + 1, None, 0);
        assert_eq!(engine.numa.preferred_node(main + 1), None, "a process does not inherit it");
        engine.activate_task(0, main, Enqueue::New);
        assert!(!engine.task_tick_numa(0, main));
        engine.numa.members[main as usize].task_numa_fault(0, 1, true, 2);
        assert!(engine.task_tick_numa(0, main));
        // A new image leaves the faults behind; this kernel keeps the empty tables.
        engine.numa.execed(main);
        assert_eq!(engine.numa.preferred_node(main), Some(1));
        let member = &engine.numa.members[main as usize];
        assert!(member.has_faults() && member.faults(1) == 0 && member.share(1) == 0);
    });
}
