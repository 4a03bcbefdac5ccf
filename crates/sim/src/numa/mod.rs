//! NUMA balancing: sampling where tasks touch memory, and bringing pages and tasks together.
//!
//! ```text
//! tick ──► scan        a part of the address space is marked, after scan_delay_ms of run time and then once a period
//!            │
//!            ▼
//! touch ─► fault       of a marked page: counted by node; the second in a row from another node moves the page
//!            │
//!            ▼
//! tick ──► place       the node of most faults is preferred; the task goes there, to an idle CPU, in exchange, or if
//!                      the nodes' loads allow it
//! balancing ◄ verdict  and stays there rather than follow the load
//! ```
//! Marks belong to an address space, which threads share; the node of a page's last fault belongs to the page. Functions
//! of the kernel are named where they were followed; their constants are facts of kernel/sched/fair.c, v4.5.

mod fault;
mod member;
mod place;
mod scan;
mod space;
#[cfg(any(debug_assertions, feature = "check"))]
mod verify;

use schedlab_workload::program::Scope;

use crate::balance::KernelPolicy;
use crate::engine::{Engine, World};
use crate::kernel::{NumaScan, Tunable, Tunables};
use crate::observe::Observer;
use crate::physics::{PAGE, Region};
use crate::sched::TaskIx;
use crate::time::{MS, Ns};

use member::Member;
pub(crate) use space::Image;
use space::Space;

/// No node: a page that has not faulted, a task without a preference.
const NOWHERE: u8 = u8::MAX;

/// No address space: a kernel thread.
const NO_SPACE: u32 = u32::MAX;

/// State of NUMA balancing.
#[derive(Debug)]
pub(crate) struct Numa {
    /// The machine has several nodes and the kernel this mechanism; otherwise all the rest is empty.
    present: bool,
    /// It is switched on.
    pub on: bool,
    knobs: Knobs,
    nodes: usize,
    spares_local: bool,
    /// There has been a fresh image.
    images: bool,
    /// Whether a region is shared between processes.
    shared: Vec<bool>,
    spaces: Vec<Space>,
    free: Vec<u32>,
    /// By task.
    members: Vec<Member>,
    /// Marked pages whose address space ended before they were touched.
    forgotten: u64,
}

/// The tunables, as the scan uses them.
#[derive(Debug, Clone, Copy)]
struct Knobs {
    delay: Ns,
    period_min: Ns,
    period_max: Ns,
    size_mb: u64,
}

impl Knobs {
    fn new(tunables: &Tunables) -> Self {
        let ms = |tunable| tunables.ns(tunable) * MS;
        Self {
            delay: ms(Tunable::NumaScanDelayMs),
            period_min: ms(Tunable::NumaScanPeriodMinMs),
            period_max: ms(Tunable::NumaScanPeriodMaxMs),
            size_mb: tunables.ns(Tunable::NumaScanSizeMb).max(1),
        }
    }

    /// Pages that one scan marks.
    fn size(&self) -> u64 {
        self.size_mb * ((1 << 20) / PAGE)
    }

    /// Least and greatest period between two scans of a space of so many pages (`task_scan_min()`, `task_scan_max()`): all
    /// of it is scanned once within the tunables' periods, but not more than 2560 MiB a second.
    fn periods(&self, pages: u64) -> (Ns, Ns) {
        const MOST_MIB_PER_SECOND: u64 = 2560;
        let windows = pages.div_ceil(self.size()).max(1);
        let floor = 1000 / (MOST_MIB_PER_SECOND / self.size_mb).max(1) * MS;
        let least = (self.period_min / windows).max(floor);
        (least, (self.period_max / windows).max(least))
    }
}

impl Numa {
    pub fn new(world: &World<'_>, tunables: &Tunables) -> Self {
        let nodes = world.machine.nodes();
        let present = nodes > 1 && tunables.has(Tunable::NumaBalancing);
        let plan = world.plan;
        let regions = if present { plan.regions().total() } else { 0 };
        let scope = |region| plan.program().resources.regions[plan.regions().position(region)].scope;
        Self {
            present,
            on: present && tunables.on(Tunable::NumaBalancing),
            knobs: Knobs::new(tunables),
            nodes,
            spares_local: world.kernel.numa_scan == NumaScan::SparesLocal,
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
        self.knobs = Knobs::new(tunables);
    }

    /// A task has been created; a thread shares the address space of `sharing`. Its scan period begins as the delay
    /// (`init_numa_balancing()`), and so does the wait of a new address space.
    pub fn born(&mut self, task: TaskIx, sharing: Option<TaskIx>, now: Ns) {
        if !self.present {
            return;
        }
        let first_scan = now.saturating_add(self.knobs.delay);
        let space = match sharing {
            Some(other) => self.members[other as usize].space,
            None => self.new_space(Some(first_scan)),
        };
        self.spaces[space as usize].users += 1;
        self.join(task, Member::new(space, self.knobs.delay));
    }

    /// A kernel thread has been created: it has no address space.
    pub fn born_in_kernel(&mut self, task: TaskIx) {
        if self.present {
            self.join(task, Member::new(NO_SPACE, self.knobs.delay));
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

    /// A task ends.
    pub fn died(&mut self, task: TaskIx) {
        if self.present {
            self.leave(self.members[task as usize].space);
        }
    }

    /// A task has got a fresh address space. Its first scan is a delay behind the first moment at which one would be due.
    pub fn execed(&mut self, task: TaskIx) {
        if self.present {
            self.leave(self.members[task as usize].space);
            let space = self.new_space(None);
            self.spaces[space as usize].users = 1;
            self.members[task as usize].space = space;
        }
    }

    /// A fresh image has filled its memory; it touches all of it once more while it computes for `total` ns of run time.
    pub fn filled(&mut self, task: TaskIx, image: Image) {
        if self.present {
            let space = self.members[task as usize].space;
            self.spaces[space as usize].image = image;
            self.images = true;
        }
    }

    /// Before a task's first fault of a pass: what the faults of the pass before tell.
    fn task_numa_placement(&mut self, task: TaskIx, regions: &[Region]) {
        let member = &mut self.members[task as usize];
        let space = &self.spaces[member.space as usize];
        if member.passes != space.passes {
            member.task_numa_placement(space.passes, self.knobs.periods(space.pages(regions)));
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
        let it = &mut self.spaces[space as usize];
        it.users -= 1;
        if it.users == 0 {
            self.forgotten += it.marked();
            *it = Space::default();
            self.free.push(space);
        }
    }

    /// The node that a task prefers.
    fn preferred(&self, task: TaskIx) -> u8 {
        self.members[task as usize].preferred
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// A task's run time up to its CPU's clock, `cpu` being where it runs.
    fn run_time(&self, cpu: usize, task: TaskIx) -> Ns {
        let it = &self.cpus[cpu];
        self.tasks[task].ran_ns + it.clock.saturating_sub(it.charged_at)
    }
}

#[cfg(test)]
mod tests {
    use super::Knobs;
    use crate::time::{MS, SECOND};

    #[test]
    fn periods_divide_by_the_windows_of_the_space_and_keep_to_2560_mib_a_second() {
        let knobs = Knobs { delay: 0, period_min: SECOND, period_max: 60 * SECOND, size_mb: 256 };
        let mib = 256;
        // Up to 256 MiB one scan covers all.
        assert_eq!(knobs.periods(0), (SECOND, 60 * SECOND));
        assert_eq!(knobs.periods(256 * mib), (SECOND, 60 * SECOND));
        // 257 MiB take two scans, 1000 MiB four.
        assert_eq!(knobs.periods(257 * mib), (500 * MS, 30 * SECOND));
        assert_eq!(knobs.periods(1000 * mib), (250 * MS, 15 * SECOND));
        // 16 GiB would take 64 scans a second, but 2560 / 256 = 10 are the most.
        assert_eq!(knobs.periods(16384 * mib).0, 100 * MS);
        // The greatest period is never less than the least.
        let upside_down = Knobs { period_max: MS, ..knobs };
        assert_eq!(upside_down.periods(0), (SECOND, SECOND));
        // Scans of more than 2560 MiB: one a second.
        assert_eq!(Knobs { size_mb: 5000, period_min: MS, ..knobs }.periods(0).0, SECOND);
    }
}
