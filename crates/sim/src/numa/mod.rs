//! NUMA balancing: samples the nodes whose memory tasks touch, and moves pages and tasks towards each other.
//!
//! ```text
//! tick ──► scan        marks a part of the address space, after scan_delay_ms of run time and then once per period
//!            │
//!            ▼
//! touch ─► fault       counts a marked page's fault by node; two successive faults from another node move the page
//!            │
//!            ▼
//! tick ──► place       prefers the node with most faults; moves the task there if the kernel's rules find a place
//! balancing ◄ verdict  keeps the task there instead of following the load
//! ```
//! Marks belong to an address space, which threads share. The node of the last fault belongs to the page. Docstrings name the
//! kernel functions that are modelled. Constants come from kernel/sched/fair.c, v4.5.

mod fault;
mod find_cpu;
mod member;
mod place;
mod scan;
mod space;
#[cfg(any(debug_assertions, feature = "check"))]
mod verify;

use schedlab_workload::Plan;
use schedlab_workload::program::Scope;

use crate::kernel::{Kernel, NumaPlacement, NumaScan, Tunable, Tunables};
use crate::physics::Region;
use crate::sched::TaskIx;
use crate::time::Ns;

use member::Member;
use scan::ScanTunables;
pub(crate) use space::Image;
use space::Space;

/// Marker for no node: a page without faults, a task without a preferred node.
const NOWHERE: u8 = u8::MAX;

/// Marker for no address space: a kernel thread.
const NO_SPACE: u32 = u32::MAX;

/// State of NUMA balancing.
#[derive(Debug)]
pub(crate) struct Numa {
    /// Whether the machine has several nodes and the kernel has the mechanism. Otherwise all other fields are empty.
    present: bool,
    /// Whether NUMA balancing is switched on.
    pub on: bool,
    scan: ScanTunables,
    nodes: usize,
    /// Whether a scan leaves out the pages on the task's node, if the task shares its address space with no other task.
    spares_local: bool,
    /// Whether tasks get a preferred node.
    places: bool,
    /// Whether a task's tables of faults outlive its address space, with zeros (since 5.3).
    keeps_tables: bool,
    /// Pages that each process inherits from the main task.
    inherited: u64,
    /// Marks of these pages that forks have copied.
    copied: u64,
    /// Whether any task has executed a fresh image.
    images: bool,
    /// Whether a region is shared between processes.
    shared: Vec<bool>,
    spaces: Vec<Space>,
    free: Vec<u32>,
    /// State of each task.
    members: Vec<Member>,
    /// Marked pages whose address space ended before their next touch.
    forgotten: u64,
}

impl Numa {
    /// Size of a task's tables: its faults, and a separate address space.
    pub const TASK_BYTES: u64 = (size_of::<Member>() + size_of::<Space>()) as u64;

    pub fn new(nodes: usize, kernel: &Kernel, plan: &Plan, tunables: &Tunables) -> Self {
        let present = nodes > 1 && tunables.has(Tunable::NumaBalancing);
        let regions = if present { plan.regions().total() } else { 0 };
        let scope = |region| plan.program().resources.regions[plan.regions().position(region)].scope;
        Self {
            present,
            on: present && tunables.on(Tunable::NumaBalancing),
            scan: ScanTunables::new(tunables),
            nodes,
            spares_local: kernel.numa_scan == NumaScan::SparesLocal,
            places: kernel.numa_placement != NumaPlacement::None,
            keeps_tables: kernel.numa_placement == NumaPlacement::Capacity,
            inherited: if present { plan.program().main_memory.pages.into() } else { 0 },
            copied: 0,
            images: false,
            shared: (0..regions).map(|region| scope(region) != Scope::Task).collect(),
            spaces: Vec::new(),
            free: Vec::new(),
            members: Vec::new(),
            forgotten: 0,
        }
    }

    pub fn retune(&mut self, tunables: &Tunables) {
        self.on = self.present && tunables.on(Tunable::NumaBalancing);
        self.scan = ScanTunables::new(tunables);
    }

    /// Add a new task. A thread shares the address space of `sharing`. The scan delay is the first scan period of the task,
    /// and the time until the first scan of a new address space (`init_numa_balancing()`).
    pub fn born(&mut self, task: TaskIx, sharing: Option<TaskIx>, now: Ns) {
        if !self.present {
            return;
        }
        let first_scan = now.saturating_add(self.scan.delay);
        let space = match sharing {
            Some(other) => self.members[other as usize].space,
            None => {
                let space = self.new_space(Some(first_scan));
                self.spaces[space as usize].inherited = self.inherited;
                space
            }
        };
        self.spaces[space as usize].users += 1;
        let preferred = sharing.map_or(NOWHERE, |other| self.preferred(other));
        self.join(task, Member::new(space, self.scan.delay, preferred));
    }

    /// Give a new process the marks of its parent's inherited pages: a fork copies the page table.
    pub fn forked(&mut self, parent: TaskIx, child: TaskIx) {
        if self.present {
            let [parent, child] = [parent, child].map(|task| self.members[task as usize].space as usize);
            let marked = self.spaces[parent].inherited_marked;
            self.spaces[child].inherited_marked = marked;
            self.copied += marked;
        }
    }

    /// Add a kernel thread, which has no address space.
    pub fn born_in_kernel(&mut self, task: TaskIx) {
        if self.present {
            self.join(task, Member::new(NO_SPACE, self.scan.delay, NOWHERE));
        }
    }

    fn join(&mut self, task: TaskIx, member: Member) {
        let at = task as usize;
        if at == self.members.len() {
            self.members.push(member);
        } else {
            self.members[at] = member;
        }
    }

    /// Remove a task.
    pub fn died(&mut self, task: TaskIx) {
        if self.present {
            self.leave(self.members[task as usize].space);
        }
    }

    /// Give a task a fresh address space, without faults; the preferred node remains (`task_numa_free()`, called by
    /// `bprm_execve()`). `task_numa_work()` sets the time of its first scan: one scan delay after the first call.
    pub fn execed(&mut self, task: TaskIx) {
        if self.present {
            self.leave(self.members[task as usize].space);
            let space = self.new_space(None);
            self.spaces[space as usize].users = 1;
            let member = &mut self.members[task as usize];
            member.space = space;
            member.forget_faults(self.keeps_tables);
        }
    }

    /// Record that a fresh image has filled its memory. The image touches all this memory again during its computation.
    pub fn filled(&mut self, task: TaskIx, image: Image) {
        if self.present {
            let space = self.members[task as usize].space;
            self.spaces[space as usize].image = image;
            self.images = true;
        }
    }

    /// Evaluate the previous pass before a task's first fault of a new pass (`task_numa_placement()`, kernel/sched/fair.c,
    /// v4.5).
    fn task_numa_placement(&mut self, task: TaskIx, regions: &[Region]) {
        let member = &mut self.members[task as usize];
        let space = &self.spaces[member.space as usize];
        if member.passes != space.passes {
            let pages = space.pages(regions);
            let periods = (self.scan.task_scan_min(pages), self.scan.task_scan_max(pages));
            member.task_numa_placement(space.passes, periods, self.places);
        }
    }

    fn new_space(&mut self, first_scan: Option<Ns>) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.spaces.push(Space::default());
            self.spaces.len() as u32 - 1
        });
        self.spaces[at as usize].next_scan = first_scan;
        at
    }

    fn leave(&mut self, space: u32) {
        if space == NO_SPACE {
            return;
        }
        let left_space = &mut self.spaces[space as usize];
        left_space.users -= 1;
        if left_space.users == 0 {
            self.forgotten += left_space.marked();
            *left_space = Space::default();
            self.free.push(space);
        }
    }

    /// Preferred node of a task, if it has one.
    pub fn preferred_node(&self, task: TaskIx) -> Option<usize> {
        let preferred = self.members.get(task as usize)?.preferred;
        (preferred != NOWHERE).then_some(preferred.into())
    }

    /// Let a task prefer a node.
    #[cfg(test)]
    pub fn prefer(&mut self, task: TaskIx, node: usize) {
        self.members[task as usize].preferred = node as u8;
    }

    /// As [`Numa::preferred_node`] in the form of [`Member::preferred`].
    fn preferred(&self, task: TaskIx) -> u8 {
        self.members[task as usize].preferred
    }
}
