//! Invariants of NUMA balancing, for the checks of [`crate::engine`].

use super::Numa;
use crate::observe::Counters;
use crate::physics::Region;
use crate::sched::TaskIx;

impl Numa {
    /// Panic if an invariant does not hold. `alive` are the tasks that have not ended.
    pub fn verify(&self, counters: &Counters, regions: &[Region], alive: impl Iterator<Item = TaskIx>) {
        let counted = [
            counters.numa_scans,
            counters.numa_pte_updates,
            counters.numa_hint_faults,
            counters.numa_pages_migrated,
            counters.numa_task_migrated + counters.numa_task_swapped + counters.numa_task_stayed,
        ];
        if !self.present {
            assert_eq!(counted, [0; 5], "counters are 0 if NUMA balancing does not exist");
            return;
        }
        let mut users = vec![0; self.spaces.len()];
        for task in alive {
            let member = &self.members[task as usize];
            if member.space == super::NO_SPACE {
                continue;
            }
            users[member.space as usize] += 1;
            let exists = usize::from(member.preferred) < self.nodes || member.preferred == super::NOWHERE;
            assert!(exists, "task {task} prefers an existing node");
        }
        let mut marked = self.forgotten;
        for (space, users) in self.spaces.iter().zip(users) {
            assert_eq!(space.users, users, "an address space counts its users");
            assert!(space.image.marked <= space.image.pages, "only present pages are marked");
            assert!(space.inherited_marked <= space.inherited, "only inherited pages are marked");
            space.mappings().iter().for_each(|map| map.verify(regions));
            marked += space.marked();
        }
        let faults = counters.numa_hint_faults;
        assert_eq!(
            counters.numa_pte_updates + self.copied,
            faults + marked,
            "every marked page has faulted or is still marked"
        );
        assert!(counters.numa_hint_faults_local <= faults, "local faults are among all faults");
    }
}
