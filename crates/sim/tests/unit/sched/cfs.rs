use super::{Cfs, Entity, Queue};
use crate::sched::Policy;
use crate::time::MS;

/// A new task is placed behind its parent by a slice (`START_DEBIT`); `sched_child_runs_first` swaps their places.
#[test]
fn child_has_less_virtual_time_than_its_parent_only_if_it_runs_first() {
    for child_first in [false, true] {
        let policy = Cfs {
            latency: 6 * MS,
            min_granularity: MS,
            wakeup_granularity: MS,
            gentle_sleepers: true,
            start_debit: true,
            last_buddy: true,
            child_first,
        };
        let queue = Queue { current: 0, load: 1024, number: 1, ..Queue::default() };
        let mut all = vec![Entity { weight: 1024, ..Entity::default() }; 2];
        policy.task_fork(&queue, &mut all, Some(0), 1, 0);
        let [parent, child] = [all[0].vruntime, all[1].vruntime];
        assert_eq!(child < parent, child_first);
        assert_eq!(parent.min(child), 0);
        assert!(parent.max(child) > 0);
    }
}
