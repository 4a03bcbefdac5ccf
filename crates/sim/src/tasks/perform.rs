//! Beginning and effect of each action of a program.

use schedlab_workload::Step;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::physics::Touch;
use crate::sched::TaskIx;
use crate::tasks::exec::Progress;
use crate::tasks::{Action, BANDWIDTH, CACHE, REMOTE, Segment};
use crate::time::{NEVER, Ns};

/// Size of the parts of a touch in bytes. Between two parts the task can be preempted, and other tasks can use the
/// node's memory.
const PART: u64 = 256 * 1024;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    #[inline(never)]
    pub(super) fn begin(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Progress {
        let Action::Step(step) = &self.tasks[task].action else {
            return self.begin_life(cpu, task, ahead);
        };
        match *step {
            Step::Send { channel, bytes, direction } => {
                self.begin_send(cpu, task, (channel, bytes, direction), ahead)
            }
            Step::Receive { channel, bytes, direction, take, .. } => {
                self.begin_receive(cpu, task, (channel, bytes, direction), take, ahead)
            }
            Step::Touch { bytes, .. } => {
                if self.tasks[task].left == u64::MAX {
                    self.tasks[task].left = bytes;
                }
                self.touch_part(cpu, task)
            }
            Step::Watch { ns, .. } => {
                self.tasks[task].left = self.task_time(cpu, task);
                Progress::Segment(Segment { watched: true, ..Segment::new(Account::User, ns) })
            }
            Step::Fork => Progress::Segment(self.process_segment(cpu, self.costs.fork)),
            Step::ExecWork(_) | Step::ExecCommand(_) => {
                let early = self.too_early(cpu, task, ahead);
                self.begin_exec(cpu, task, early)
            }
            Step::End => {
                let pages = self.world.plan.program().main_memory.written.into();
                let ended = &mut self.tasks[task];
                let writes = pages > 0 && !ended.thread && !ended.is_child;
                ended.action = if writes { Action::WriteInherited { pages } } else { Action::Exit };
                self.begin_life(cpu, task, ahead)
            }
            _ if self.too_early(cpu, task, ahead) => Progress::Later,
            Step::Lock(lock) => self.begin_lock(cpu, task, lock),
            Step::Unlock(lock) => self.begin_unlock(cpu, task, lock),
            Step::Up { semaphore, count } => self.begin_up(cpu, task, semaphore, count),
            Step::Down(semaphore) => self.begin_down(cpu, task, semaphore),
            Step::Barrier(barrier) => self.begin_barrier(cpu, task, barrier),
            Step::Await { condition, lock } => self.begin_await(cpu, task, condition, lock),
            Step::Signal { condition, all } => self.begin_signal(cpu, task, condition, all),
            Step::Until { at_ns } => {
                let at = self.gate.opened_at.unwrap_or(0).saturating_add(at_ns);
                self.begin_sleep_until(cpu, task, at)
            }
            Step::Write { .. } => {
                self.book(cpu, Account::Syscall, self.costs.syscall);
                Progress::Done
            }
            Step::Set(number) => self.begin_set(cpu, task, number),
            Step::Finish => {
                self.gate.closed_at = Some(self.cpus[cpu].clock);
                self.finished = true;
                Progress::Asleep
            }
            Step::Sleep { ns } => self.begin_sleep(cpu, task, ns),
            Step::Yield => {
                self.book(cpu, Account::Syscall, self.costs.syscall);
                if self.stats.on {
                    self.stats_queue(cpu, |counts| &mut counts.yld_count);
                }
                self.update_curr(cpu);
                if self.tasks[task].class.is_deadline() {
                    self.yield_task_dl(cpu, task);
                } else if self.tasks[task].class.realtime().is_some() {
                    self.cpus[cpu].turn_over = true;
                } else {
                    self.rq.policy.yield_task(
                        &mut self.rq.queues[cpu],
                        &mut self.rq.entities,
                        task,
                        self.time.now,
                    );
                }
                Progress::Yielded
            }
            Step::Wait { count } => self.begin_wait(cpu, task, count),
            Step::Compute { .. }
            | Step::Stamp(_)
            | Step::Record { .. }
            | Step::Observe { .. }
            | Step::Lap { .. }
            | Step::Count { .. } => {
                unreachable!("`fetch` performs these steps")
            }
        }
    }

    #[inline(never)]
    fn begin_sleep(&mut self, cpu: usize, task: TaskIx, ns: Ns) -> Progress {
        if self.sleep(cpu, task, ns) { Progress::Asleep } else { Progress::Failed(too_long(ns)) }
    }

    /// Sleep until the absolute time `at` (`TIMER_ABSTIME`, clock_nanosleep(2)), which the cost of the system call does not defer.
    fn begin_sleep_until(&mut self, cpu: usize, task: TaskIx, at: Ns) -> Progress {
        let ns = at.saturating_sub(self.task_time(cpu, task));
        if ns == 0 {
            return Progress::Done;
        }
        if at >= NEVER / 2 {
            return Progress::Failed(too_long(ns));
        }
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.nanosleep);
        self.tasks[task].carry = 0;
        // A time that has passed meanwhile: the timer fires at once.
        self.arm(cpu, task, at.max(self.cpus[cpu].clock));
        Progress::Asleep
    }

    /// Put a task to sleep for `ns`; return `false` if virtual time ends before the wake-up.
    #[inline(always)]
    pub(super) fn sleep(&mut self, cpu: usize, task: TaskIx, ns: Ns) -> bool {
        self.book(cpu, Account::Syscall, self.costs.syscall + self.costs.nanosleep);
        let carry = std::mem::take(&mut self.tasks[task].carry);
        let at = self.cpus[cpu].clock.saturating_add(ns).saturating_add(carry.into());
        let ends = at < NEVER / 2;
        if ends {
            self.arm(cpu, task, at);
        }
        ends
    }

    #[inline(never)]
    pub(super) fn effect(&mut self, cpu: usize, task: TaskIx) -> Progress {
        let Action::Step(step) = &self.tasks[task].action else {
            return self.effect_life(cpu, task);
        };
        match *step {
            Step::Touch { .. } if self.tasks[task].left == 0 => Progress::Done,
            Step::Touch { .. } => Progress::Repeat,
            Step::Watch { longest, .. } => {
                self.end_watch(cpu, task, longest);
                Progress::Done
            }
            Step::Send { channel, direction, .. } => self.effect_send(cpu, task, channel, direction),
            Step::Receive { channel, direction, take, counter, .. } => {
                self.effect_receive(cpu, task, channel, direction, take, counter)
            }
            Step::Fork => self.effect_fork(cpu, task),
            Step::ExecWork(work) => {
                self.effect_exec(task, Action::Image { files: work.files, bytes: work.bytes, ns: work.ns })
            }
            Step::ExecCommand(_) => self.effect_exec(task, Action::Command),
            _ => Progress::Done,
        }
    }

    /// Begin the next part of a touch.
    pub(super) fn touch_part(&mut self, cpu: usize, task: TaskIx) -> Progress {
        let toucher = &self.tasks[task];
        let Action::Step(Step::Touch { region, offset, stride, pattern, .. }) = toucher.action else {
            unreachable!("the caller has checked that the action is a touch")
        };
        let bytes = toucher.left.min(PART);
        let touch = Touch { offset: offset.wrapping_add(toucher.moved), bytes, stride, pattern };
        self.do_numa_page(cpu, task, region, &touch);
        let memory_node = self.tasks[task].memory_node;
        let (now, machine) = (self.cpus[cpu].clock, self.world.machine);
        let cost = self.physics.memory.touch(
            &mut self.physics.regions[region as usize],
            &touch,
            cpu,
            memory_node,
            self.topology,
            &mut self.physics.caches,
            &self.costs,
            (machine.private_kib, machine.llc_kib),
            now,
        );
        self.records.counters.page_faults += cost.pages;
        if cost.pages > 0 {
            let node = memory_node.map_or(self.topology.places[cpu].node, u16::from);
            self.note_faults(cpu, node.into(), cost.pages);
        }
        let toucher = &mut self.tasks[task];
        toucher.left -= bytes;
        toucher.moved += bytes;
        if cost.fault > 0 {
            let node = memory_node.map_or(self.topology.places[cpu].node, u16::from);
            let lists = self.page_lists(cpu, node.into(), cost.pages);
            self.book(cpu, Account::Fault, cost.fault + lists);
        }
        let mut segment = Segment::new(Account::User, cost.work.max(1));
        segment.add(CACHE, cost.cache);
        segment.add(REMOTE, cost.remote);
        segment.add(BANDWIDTH, cost.bandwidth);
        Progress::Segment(segment)
    }
}

/// Message for a sleep that would last beyond the end of virtual time.
pub(super) fn too_long(ns: Ns) -> String {
    format!("sleeping for {ns} ns: virtual time ends before")
}
