use super::{GroupAverages, GroupStats, GroupType};
use crate::sched::Sum;

/// Type of a group of eight CPUs whose averages are `util` and `runnable` eighths of the capacity, with an `imbalance_pct` of 117.
fn kind(number: u64, util: u64, runnable: u64) -> GroupType {
    let averages = GroupAverages { util: util * 1024, runnable: runnable * 1024 };
    GroupType::classify(8, number, &averages, 117)
}

#[test]
fn fewer_tasks_than_cpus_leave_spare_capacity() {
    assert_eq!(kind(7, 8, 20), GroupType::HasSpare);
}

#[test]
fn averages_decide_between_groups_with_a_task_for_each_cpu_or_more() {
    // 7 / 8 × 117 % is 102 % of the capacity, 6 / 8 × 117 % is 88 %. Ten tasks are more than 117 % of eight CPUs, nine are less.
    assert_eq!([6, 7].map(|util| kind(8, util, 8)), [GroupType::HasSpare, GroupType::FullyBusy]);
    assert_eq!([6, 7].map(|util| kind(9, util, 8)), [GroupType::HasSpare, GroupType::Overloaded]);
    assert_eq!([9, 10].map(|runnable| kind(9, 4, runnable)), [GroupType::HasSpare, GroupType::Overloaded]);
    assert_eq!(kind(8, 4, 10), GroupType::FullyBusy);
}

/// A group of `width` CPUs, `idle` of them without tasks, with `number` tasks of weight 1024.
fn group(kind: GroupType, width: u64, number: u64, idle: u64) -> GroupStats {
    GroupStats { sum: Sum { width, number, load: 1024 * number, idle }, kind }
}

#[test]
fn the_busiest_group_is_the_most_loaded_or_has_the_fewest_idle_cpus() {
    let overloaded = |width, number| group(GroupType::Overloaded, width, number, 0);
    let spare = |number, idle| group(GroupType::HasSpare, 8, number, idle);
    let full = group(GroupType::FullyBusy, 8, 8, 0);
    let busier = |one: &GroupStats, other: &GroupStats| one.is_busier(other) && !other.is_busier(one);
    assert!(busier(&overloaded(8, 9), &full) && busier(&full, &spare(20, 0)));
    assert!(busier(&overloaded(8, 20), &overloaded(8, 9)));
    // Load per CPU counts, not load.
    assert!(busier(&overloaded(2, 4), &overloaded(8, 12)));
    assert!(busier(&spare(6, 2), &spare(5, 3)) && busier(&spare(7, 2), &spare(6, 2)));
    for same in [overloaded(8, 9), full, spare(6, 2)] {
        assert!(!same.is_busier(&same));
    }
}
