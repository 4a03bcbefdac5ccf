//! Invariants, see [`crate::engine`]'s.

use super::Numa;
use crate::observe::Counters;
use crate::physics::Region;
use crate::sched::TaskIx;

impl Numa {
    /// Panics where an invariant does not hold; `alive` are the tasks that have not ended.
    pub fn verify(&self, counters: &Counters, regions: &[Region], alive: impl Iterator<Item = TaskIx>) {
        let counted = [
            counters.numa_scans,
            counters.numa_pte_updates,
            counters.numa_hint_faults,
            counters.numa_pages_migrated,
            counters.numa_task_migrated + counters.numa_task_swapped + counters.numa_task_stayed,
        ];
        if !self.present {
            assert_eq!(counted, [0; 5], "nothing is counted where there is nothing to balance");
            return;
        }
        let mut users = vec![0; self.spaces.len()];
        for task in alive {
            let member = &self.members[task as usize];
            if member.space == super::NO_SPACE {
                continue;
            }
            users[member.space as usize] += 1;
            let known = usize::from(member.preferred) < self.nodes || member.preferred == super::NOWHERE;
            assert!(known, "task {task} prefers a node that exists");
        }
        let mut marked = self.forgotten;
        for (space, users) in self.spaces.iter().zip(users) {
            assert_eq!(space.users, users, "an address space knows how many share it");
            assert!(space.image.marked <= space.image.pages, "only pages that are there are marked");
            space.mappings().iter().for_each(|map| map.verify(regions));
            marked += space.marked();
        }
        let faults = counters.numa_hint_faults;
        assert_eq!(
            counters.numa_pte_updates,
            faults + marked,
            "every marked page has faulted or is marked still"
        );
        assert!(counters.numa_hint_faults_local <= faults, "local faults are among all");
    }
}
