//! Kernel work with a place: shared lines of fork, exec, exit, files and free pages, and images away from their memory.
//!
//! What a path of the kernel writes to data of all CPUs, such as directory entries, lists of tasks and a node's free pages, is in
//! the caches of the CPU that wrote last. On a busy machine that is another CPU, on a machine with many nodes mostly a CPU of
//! another node. The same holds for the descriptors of pages, which are on the node of their pages.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::SharedLines;
use crate::ledger::Account;
use crate::machine::Distance;
use crate::observe::Observer;
use crate::physics::PAGE;
use crate::sched::TaskIx;
use crate::tasks::Segment;
use crate::time::{MS, Ns};

/// Files that an image reads in one piece of work: other CPUs take the lines meanwhile.
pub(super) const FILES_AT_ONCE: u64 = 4;

/// Instructions of opening, reading and closing a small file, without the system calls' entries and the copy. lmbench's open and
/// close take about 6 µs on a Pentium III at 700 MHz, and 1 µs on machines of 2015.
const FILE_INSTRUCTIONS: u64 = 2500;

/// Size of a header file in KiB: the mean of the kernel's own headers.
const FILE_KIB: u64 = 6;

/// Length of the parts of an image's computation on machines with several nodes. Each part has the speed of its place.
const PART: Ns = 10 * MS;

/// Clock cycles of a compiler for a line from memory: about one miss in 1000 instructions, at 0.7 instructions in a cycle (SPEC
/// CPU2000's gcc with caches of 1 to 2 MiB).
const CYCLES_PER_LINE: u64 = 1400;

/// CPUs that wrote the kernel's shared data last.
#[derive(Debug)]
pub(crate) struct Writers {
    /// Directory entries, lists of tasks.
    files: usize,
    /// Lists of free pages, by node.
    pages: Vec<usize>,
}

impl Writers {
    /// The boot CPU has written everything.
    pub fn new(nodes: usize) -> Self {
        Self { files: 0, pages: vec![0; nodes] }
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Time of fetching `lines` lines from the CPU that wrote them last. CPUs of one core share their caches.
    pub(super) fn fetch_lines(&self, writer: usize, cpu: usize, lines: u64) -> Ns {
        match self.topology.distance(writer, cpu) {
            Distance::Core => 0,
            distance => lines * self.costs.line.at(distance),
        }
    }

    /// Time of fetching lines of files and processes. An operation without lines leaves them where they are.
    fn write_files(&mut self, cpu: usize, lines: u64) -> Ns {
        if lines == 0 {
            return 0;
        }
        let writer = std::mem::replace(&mut self.writers.files, cpu);
        self.fetch_lines(writer, cpu, lines)
    }

    /// Fork, exec or exit of `cost` ns.
    pub(super) fn process_segment(&mut self, cpu: usize, cost: u32) -> Segment {
        let lines = self.world.kernel.shared_lines.process;
        Segment::new(Account::Family, Ns::from(cost) + self.write_files(cpu, lines.into()))
    }

    /// Opening, reading and closing of files.
    pub(super) fn read_files(&mut self, cpu: usize, files: u64) -> Segment {
        let costs = &self.costs;
        let path = FILE_INSTRUCTIONS * u64::from(costs.instruction_ps) / 1000;
        let each = 3 * Ns::from(costs.syscall) + path + FILE_KIB * Ns::from(costs.copy_kib);
        let lines = u64::from(self.world.kernel.shared_lines.file);
        Segment::new(Account::Syscall, files * each + self.write_files(cpu, files * lines))
    }

    /// First touch of `bytes` of a process's own memory: a new image's, or inherited pages that it writes. Copying a page takes about
    /// as long as clearing one.
    pub(super) fn fill(&mut self, cpu: usize, task: TaskIx, bytes: u64) -> Segment {
        let (place, pages) = (self.topology.places[cpu], bytes.div_ceil(PAGE));
        self.records.counters.page_faults += pages;
        let owner = &mut self.tasks[task];
        let node = owner.memory_node.map_or(place.node, u16::from);
        (owner.image_node, owner.image_pages) = (node, pages.try_into().unwrap_or(u32::MAX));
        self.note_faults(cpu, node.into(), pages);
        self.physics.caches.flow(place.core.into(), place.cache.into(), bytes / 1024, bytes / 1024);
        let lists = self.page_lists(cpu, node.into(), pages);
        Segment::new(Account::Fault, pages * Ns::from(self.costs.page_fault) + lists)
    }

    /// Time of the lists of free pages for allocating or freeing pages of a node.
    pub(super) fn page_lists(&mut self, cpu: usize, node: usize, pages: u64) -> Ns {
        let lines = u64::from(self.world.kernel.shared_lines.pages);
        if lines == 0 {
            return 0;
        }
        let writer = std::mem::replace(&mut self.writers.pages[node], cpu);
        self.fetch_lines(writer, cpu, pages.div_ceil(SharedLines::BATCH) * lines)
    }

    /// Additional time of an exit for freeing the image's pages: the lists of their node, and the pages' descriptors, a line each
    /// if the pages are on another node.
    pub(super) fn free_image(&mut self, cpu: usize, task: TaskIx) -> Ns {
        let (node, pages) =
            (usize::from(self.tasks[task].image_node), u64::from(self.tasks[task].image_pages));
        if pages == 0 {
            return 0;
        }
        let distance = self.topology.memory_distance(cpu, node);
        let descriptors = if distance > Distance::Node { pages * self.costs.line.at(distance) } else { 0 };
        descriptors + self.page_lists(cpu, node, pages)
    }

    /// Longest part of an image's computation.
    pub(super) fn image_part_ns(&self) -> Ns {
        if self.topology.nodes.len() > 1 { PART } else { Ns::MAX }
    }

    /// The next part of an image's computation, which takes longer on a CPU away from the image's memory.
    pub(super) fn image_part(&self, cpu: usize, task: TaskIx, ns: Ns) -> Segment {
        let ns = ns.min(self.image_part_ns());
        let mut segment = Segment::new(Account::User, ns);
        let image = &self.tasks[task];
        let distance = self.topology.memory_distance(cpu, image.image_node.into());
        if image.image_pages > 0 && distance > Distance::Node {
            let cycles = ns.saturating_mul(self.world.machine.mhz.into()) / 1000;
            let (kib_16, refill) = (cycles / CYCLES_PER_LINE, &self.costs.refill_kib);
            let longer = refill.at(distance).saturating_sub(refill.node.into());
            segment.add(crate::tasks::REMOTE, kib_16 * longer * u64::from(self.costs.random_percent) / 1600);
        }
        segment
    }
}
