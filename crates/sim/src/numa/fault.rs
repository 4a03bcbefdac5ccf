//! Hinting faults.

use super::space::{Vote, vote};
use super::{Image, NOWHERE};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::physics::{PAGE, Touch};
use crate::sched::TaskIx;
use crate::time::{MS, Ns};

/// Run time in which a fresh image touches all its pages once: heap, stack and the data of its libraries. GCC 12's compiler of C
/// touched a third of its pages in 100 ms of run time, on average over its first second (`Referenced` of `/proc/PID/smaps`
/// after `clear_refs`).
const SWEEP: Ns = 300 * MS;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Handle the hinting faults of the marked pages in a part of a region that a task is about to touch. Some of the pages
    /// move (`do_numa_page()`).
    pub(crate) fn do_numa_page(&mut self, cpu: usize, task: TaskIx, region: u32, touch: &Touch) {
        if !self.numa.present {
            return;
        }
        let (node, on) = (self.topology.node(cpu) as u8, self.numa.on);
        let space = self.numa.members[task as usize].space as usize;
        let map = self.numa.spaces[space].mapping(region);
        if self.numa.shared[region as usize] {
            map.note_touch(&self.physics.regions[region as usize], touch);
        }
        if !map.is_marked() {
            return;
        }
        if on {
            self.numa.task_numa_placement(task, &self.physics.regions);
        }
        let (nodes, member) = (self.numa.nodes, &mut self.numa.members[task as usize]);
        let map = self.numa.spaces[space].mapping(region);
        let region = &mut self.physics.regions[region as usize];
        region.last_fault.resize(region.home.len(), NOWHERE);
        let (mut faults, mut local, mut moves) = (0, 0, Vec::new());
        for (granule, pages) in region.parts(touch) {
            let taken = u64::from(map.take(granule, pages));
            if taken == 0 {
                continue;
            }
            let home = &mut region.home[granule];
            let was_local = *home == node;
            faults += taken;
            local += if was_local { taken } else { 0 };
            let last = &mut region.last_fault[granule];
            if vote(last, &mut map.marks[granule].fresh, *home, node) == Vote::Moves && on {
                moves.push((*home, u64::from(region.touched[granule])));
                *home = node;
            }
            if on {
                member.task_numa_fault(*home, taken, was_local, nodes);
            }
        }
        self.book_numa_faults(cpu, faults, local);
        moves.into_iter().for_each(|(from, pages)| self.book_move(cpu, from, node, pages));
    }

    /// Handle the hinting faults of a fresh image, which touches all its memory in each [`SWEEP`] of its computation.
    #[inline]
    pub(super) fn image_faults(&mut self, cpu: usize, task: TaskIx) {
        if !self.numa.images {
            return;
        }
        let ran = self.run_time(cpu, task);
        self.image_faults_at(cpu, task, ran);
    }

    /// Complete the faults of a fresh image at the end of its computation.
    pub(crate) fn image_done(&mut self, cpu: usize, task: TaskIx) {
        if self.numa.present {
            self.image_faults_at(cpu, task, Ns::MAX);
        }
    }

    /// Begin the computation of a fresh image that its task has filled on `cpu`.
    pub(crate) fn image_filled(&mut self, cpu: usize, task: TaskIx, bytes: u64, total: Ns) {
        let bound = self.tasks[task].memory_node;
        let node = bound.unwrap_or(self.topology.node(cpu) as u8);
        let began = self.run_time(cpu, task);
        self.numa.filled(task, Image { began, ..Image::new(bytes, node, total) });
    }

    fn image_faults_at(&mut self, cpu: usize, task: TaskIx, ran: Ns) {
        let (node, on) = (self.topology.node(cpu) as u8, self.numa.on);
        let space = self.numa.members[task as usize].space as usize;
        let image = &mut self.numa.spaces[space].image;
        let done = ran.saturating_sub(image.began).min(image.total);
        let sweep = image.total.clamp(1, SWEEP);
        // On a fast core all pages have been touched before the time is over.
        let touched =
            ((u128::from(image.pages) * u128::from(done) / u128::from(sweep)) as u64).max(image.touched);
        let faults = (touched - image.touched).min(image.marked);
        image.touched = touched;
        if faults == 0 {
            return;
        }
        if on {
            self.numa.task_numa_placement(task, &self.physics.regions);
        }
        let (nodes, member) = (self.numa.nodes, &mut self.numa.members[task as usize]);
        let image = &mut self.numa.spaces[space].image;
        image.marked -= faults;
        let was_local = image.node == node;
        let (from, pages) = (image.node, image.pages);
        let moves = vote(&mut image.last_fault, &mut image.fresh, from, node) == Vote::Moves && on;
        if moves {
            image.node = node;
        }
        if on {
            member.task_numa_fault(image.node, faults, was_local, nodes);
        }
        self.book_numa_faults(cpu, faults, if was_local { faults } else { 0 });
        if moves {
            self.tasks[task].image_node = node.into();
            self.book_move(cpu, from, node, pages);
        }
    }

    /// Pages of a task's footprint: its stack and heap, without its regions.
    pub(super) fn footprint_pages(&self, task: TaskIx) -> u64 {
        (u64::from(self.tasks[task].footprint_kib) << 10).div_ceil(PAGE)
    }

    /// Handle the hinting faults of a task's footprint after a scan, unless the scan spared the footprint as local. The
    /// footprint is always on the task's node, and the task touches it as soon as it continues.
    pub(super) fn footprint_faults(&mut self, cpu: usize, task: TaskIx, spared: bool) {
        let pages = self.footprint_pages(task);
        if spared || pages == 0 {
            return;
        }
        self.records.counters.numa_pte_updates += pages;
        let node = self.topology.node(cpu) as u8;
        let nodes = self.numa.nodes;
        self.numa.members[task as usize].task_numa_fault(node, pages, true, nodes);
        self.book_numa_faults(cpu, pages, pages);
    }

    /// Handle the hinting faults of inherited pages that a process writes at the end of its work. The pages are on the node of the
    /// CPU on which the main task began.
    pub(crate) fn inherited_faults(&mut self, cpu: usize, task: TaskIx, pages: u64) {
        if !self.numa.present {
            return;
        }
        let space = &mut self.numa.spaces[self.numa.members[task as usize].space as usize];
        let taken = pages.min(space.inherited_marked);
        space.inherited_marked -= taken;
        let main = self.gate.main;
        let began = || self.topology.node(self.tasks.allowed(main).lowest().unwrap_or(0));
        let home = self.tasks[main].memory_node.map_or_else(began, usize::from);
        let local = if home == self.topology.node(cpu) { taken } else { 0 };
        self.book_numa_faults(cpu, taken, local);
    }

    /// Run time of a task that runs on `cpu`, up to that CPU's clock.
    fn run_time(&self, cpu: usize, task: TaskIx) -> Ns {
        let rq = &self.cpus[cpu];
        self.tasks[task].ran_ns + rq.clock.saturating_sub(rq.charged_at)
    }

    fn book_numa_faults(&mut self, cpu: usize, faults: u64, local: u64) {
        self.records.counters.numa_hint_faults += faults;
        self.records.counters.numa_hint_faults_local += local;
        self.records.counters.vmstat.pgfault += faults;
        if faults > 0 {
            self.book(cpu, Account::NumaFault, faults * u64::from(self.costs.hinting_fault));
        }
    }

    fn book_move(&mut self, cpu: usize, from: u8, to: u8, pages: u64) {
        self.records.counters.numa_pages_migrated += pages;
        self.note_page_moves(cpu, from.into(), to.into(), pages);
        self.book(cpu, Account::NumaMigrate, pages * u64::from(self.costs.page_migrate));
    }
}
