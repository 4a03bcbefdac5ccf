use super::{Member, update_task_scan_period};
use crate::numa::NOWHERE;

#[test]
fn the_scan_period_grows_with_locality_and_shrinks_without() {
    let next = |remote, local| update_task_scan_period(2000, remote, local, (1000, 60_000));
    // The period with all faults local: three tenths longer; with seven or eight tenths local: one tenth longer.
    assert_eq!(next(0, 10), 2600);
    assert_eq!((next(3, 7), next(2, 8)), (2200, 2200));
    // With six tenths local: one tenth shorter; with no local fault: seven tenths shorter, but not below the minimum.
    assert_eq!(next(4, 6), 1800);
    assert_eq!(next(10, 0), 1000);
    // Without any fault: twice as long, up to the maximum.
    assert_eq!(next(0, 0), 4000);
    assert_eq!(update_task_scan_period(50_000, 0, 0, (1000, 60_000)), 60_000);
}

#[test]
fn the_node_of_most_faults_is_preferred_and_old_faults_count_half() {
    let mut member = Member::new(0, 0, NOWHERE);
    member.task_numa_fault(1, 100, false, 3);
    member.task_numa_fault(0, 60, true, 3);
    member.task_numa_placement(1, (1, 1), true);
    assert_eq!((member.preferred, member.faults(0), member.faults(1)), (1, 60, 100));
    // 60 / 2 + 30 = 60 faults against 100 / 2 = 50 faults.
    member.task_numa_fault(0, 30, true, 3);
    member.task_numa_placement(2, (1, 1), true);
    assert_eq!((member.preferred, member.faults(0), member.faults(1)), (0, 60, 50));
    assert_eq!((member.share(0), member.share(1), member.share(2)), (545, 454, 0));
}
