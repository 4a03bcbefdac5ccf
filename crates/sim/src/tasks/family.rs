//! Actions of tasks outside of their programs: exec, the work of an image, exit, wait.

use schedlab_workload::Step;

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::physics::{PAGE, Warmth};
use crate::sched::{Enqueue, NOBODY, TaskIx};
use crate::tasks::exec::{Progress, Script};
use crate::tasks::place::FILES_AT_ONCE;
use crate::tasks::{Action, Segment, State, Task};
use crate::time::Ns;

/// Value of `Task::moved` of an executing task whose CPU has been selected.
const PLACED: u64 = 1;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Begin an action that is not a step of a program.
    pub(super) fn begin_life(&mut self, cpu: usize, task: TaskIx, ahead: bool) -> Progress {
        match self.tasks[task].action {
            Action::Image { files, .. } if files > 0 => {
                Progress::Segment(self.read_files(cpu, files.min(FILES_AT_ONCE)))
            }
            Action::Image { bytes, ns, .. } => {
                if bytes == 0 {
                    self.tasks[task].action = Action::Work { ns };
                    return self.begin_life(cpu, task, ahead);
                }
                Progress::Segment(self.fill(cpu, task, bytes))
            }
            Action::WriteInherited { pages } => {
                self.inherited_faults(cpu, task, pages);
                Progress::Segment(self.fill(cpu, task, pages * PAGE))
            }
            Action::Work { ns } => Progress::Segment(self.image_part(cpu, task, ns)),
            Action::Command => Progress::Done,
            Action::Vmstat(duty) => Progress::Segment(self.begin_vmstat(cpu, duty)),
            Action::Exit => {
                if self.tasks[task].thread {
                    return Progress::Segment(Segment::new(Account::Family, self.costs.exit_thread.into()));
                }
                let mut segment = self.process_segment(cpu, self.costs.exit);
                segment.left += self.free_image(cpu, task);
                Progress::Segment(segment)
            }
            _ => {
                let early = ahead || self.cpus[cpu].clock > self.time.now;
                self.begin_gate(cpu, task, early)
            }
        }
    }

    /// Effect of an action that is not a step of a program.
    pub(super) fn effect_life(&mut self, cpu: usize, task: TaskIx) -> Progress {
        let part = self.image_part_ns();
        let action = &mut self.tasks[task].action;
        match *action {
            Action::Image { files, bytes, ns } if files > 0 => {
                *action = Action::Image { files: files - files.min(FILES_AT_ONCE), bytes, ns };
                Progress::Repeat
            }
            Action::Image { bytes, ns, .. } => {
                *action = Action::Work { ns };
                self.image_filled(cpu, task, bytes, ns);
                Progress::Repeat
            }
            Action::Work { ns } if ns > part => {
                *action = Action::Work { ns: ns - part };
                Progress::Repeat
            }
            Action::Work { .. } => {
                *action = Action::Exit;
                self.image_done(cpu, task);
                Progress::Repeat
            }
            Action::WriteInherited { .. } => {
                *action = Action::Exit;
                Progress::Repeat
            }
            Action::Exit => self.effect_exit(cpu, task),
            Action::Vmstat(duty) => {
                self.end_vmstat(cpu, duty);
                Progress::Asleep
            }
            _ => self.effect_gate(cpu, task),
        }
    }

    /// Begin an exec: the task moves to the CPU that balancing selects, and executes there. Kernels select this CPU before they
    /// read the new image (`do_execve()`, fs/exec.c, 2.5.59 to v6.12).
    pub(super) fn begin_exec(&mut self, cpu: usize, task: TaskIx, early: bool) -> Progress {
        if self.tasks[task].moved != PLACED {
            if early {
                return Progress::Later;
            }
            self.tasks[task].moved = PLACED;
            let target = self.select_task_rq_exec(cpu, task);
            if target != cpu {
                return Progress::Move(target);
            }
        }
        Progress::Segment(self.process_segment(cpu, self.costs.exec))
    }

    /// Give the task a new image.
    pub(super) fn effect_exec(&mut self, task: TaskIx, image: Action) -> Progress {
        self.records.counters.execs += 1;
        let execed = &mut self.tasks[task];
        execed.action = image;
        execed.moved = 0;
        execed.warmth = Warmth::default();
        self.numa.execed(task);
        self.tasks[task].mm = self.physics.tlbs.new_space();
        Progress::Repeat
    }

    /// Move the current task of a CPU to another CPU, as the kernel's migration thread does.
    pub(super) fn move_current(&mut self, cpu: usize, target: usize) {
        let task = self.cpus[cpu].current;
        let distance = self.topology.distance(cpu, target);
        self.records.counters.spread_migrations[distance as usize] += 1;
        self.take_current(cpu);
        self.note_move(task, cpu, target);
        self.charge_enqueue(cpu, target);
        if self.stats.on {
            self.stats_enqueue(cpu, task);
        }
        self.activate_task(target, task, Enqueue::Moved);
        self.check_preempt_curr(cpu, target, task);
    }

    /// Take the current task off its CPU, so that the caller can enqueue the task elsewhere.
    pub(crate) fn take_current(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        self.update_curr(cpu);
        self.save_user(cpu);
        if self.stats.on {
            self.stats_take(cpu, task);
        }
        self.tasks[task].segment = self.cpus[cpu].segment;
        self.leave_core(cpu, task);
        if self.tasks[task].class.realtime().is_none() {
            self.rq.block(cpu, task, self.time.now);
            self.rq.detach(cpu, task, self.time.now);
        }
        self.rq.sub_nr_running(cpu);
        self.cpus[cpu].current = NOBODY;
        self.cpus[cpu].segment = Segment::EMPTY;
    }

    fn effect_exit(&mut self, cpu: usize, task: TaskIx) -> Progress {
        self.records.counters.exits += 1;
        let exiting = &self.tasks[task];
        let (ordinal, is_child, parent, thread) =
            (exiting.ordinal, exiting.is_child, exiting.parent, exiting.thread);
        let (stack, image, pages) =
            (exiting.stack_node.into(), exiting.image_node.into(), exiting.image_pages);
        if task != self.gate.main {
            self.note_stack(cpu, stack, false);
            self.note_frees(cpu, image, pages.into());
        }
        self.records.observer.ended(self.cpus[cpu].clock, task);
        self.tasks.scripts[task as usize] = Script::None;
        self.numa.died(task);
        if task == self.gate.main {
            self.finished = true;
        } else if is_child {
            self.rq.policy.exit(&mut self.rq.entities, parent, task);
            self.notify_parent(cpu, parent);
        } else {
            if parent != self.gate.main {
                self.rq.policy.exit(&mut self.rq.entities, parent, task);
                self.notify_parent(cpu, parent);
            }
            self.close_ends(cpu, ordinal);
            if !self.world.plan.group(self.world.plan.task(ordinal)).background {
                self.leave_gate(cpu, thread);
            }
        }
        self.tasks.alive -= 1;
        Progress::Ended
    }

    /// Account the end of a child, and wake its parent if the parent waits for this end.
    fn notify_parent(&mut self, cpu: usize, parent: TaskIx) {
        let waiter = &mut self.tasks[parent];
        waiter.children -= 1;
        waiter.ended += 1;
        if waiter.state == State::Dead {
            if waiter.children == 0 {
                self.tasks.free.push(parent);
            }
            return;
        }
        let enough = matches!(waiter.action, Action::Step(Step::Wait { count }) if waiter.ended >= wanted(waiter, count));
        if enough && waiter.state == State::Blocked {
            self.try_to_wake_up(cpu, parent, P::EXIT_WAKES_SYNC);
        }
    }

    pub(super) fn begin_wait(&mut self, cpu: usize, task: TaskIx, count: Option<u64>) -> Progress {
        self.book(cpu, Account::Syscall, self.costs.syscall);
        let waiter = &mut self.tasks[task];
        let wanted = wanted(waiter, count);
        if waiter.ended < wanted {
            return Progress::Again;
        }
        waiter.ended -= wanted;
        self.book(cpu, Account::Family, Ns::from(wanted) * Ns::from(self.costs.wait));
        Progress::Done
    }

    /// Free the entry of an ended task that has left its CPU, unless children still refer to the entry.
    pub(crate) fn bury(&mut self, task: TaskIx) {
        self.write_off(task);
        if self.tasks[task].class.is_deadline() {
            self.deadlines.entities.remove(&task);
        }
        if self.tasks[task].children == 0 {
            self.tasks.free.push(task);
        }
    }
}

/// Number of children that a task waits for: `count`, or all children.
fn wanted(task: &Task, count: Option<u64>) -> u32 {
    let all = task.children + task.ended;
    count.map_or(all, |count| u32::try_from(count).unwrap_or(u32::MAX).min(all))
}
