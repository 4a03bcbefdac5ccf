//! Fork, exec, exit and wait.

use schedlab_workload::program::Mode;
use schedlab_workload::{Cursor, Step};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::{Birth, Observer};
use crate::physics::{PAGE, Warmth};
use crate::sched::{Enqueue, NOBODY, TaskIx, TaskLoad};
use crate::tasks::attributes::weight_of;
use crate::tasks::exec::{Progress, Script};
use crate::tasks::place::FILES_AT_ONCE;
use crate::tasks::{Action, Phase, Segment, State, Task};
use crate::time::Ns;

/// Value of `Task::moved` of an executing task whose CPU has been selected.
const PLACED: u64 = 1;

impl<'c, P: KernelPolicy, O: Observer> Engine<'c, P, O> {
    /// Create a task that is not queued yet.
    pub(super) fn new_task(
        &mut self,
        parent: TaskIx,
        ordinal: u32,
        program: (Script, Cursor<'c>),
        action: Action,
    ) -> TaskIx {
        let mut task = Task::new(parent, ordinal, action);
        let plan = self.world.plan;
        let settings = if ordinal == NOBODY {
            self.world.main
        } else {
            task.thread = plan.group(plan.task(ordinal)).mode == Mode::Thread;
            &self.world.settings[plan.task(ordinal).group]
        };
        if parent != NOBODY && ordinal != NOBODY && self.tasks[parent].ordinal == ordinal {
            // A child inherits the attributes that its parent has now (sched_fork(), kernel/sched/core.c).
            let parent = &self.tasks[parent];
            (task.class, task.nice, task.slice_ns) = (parent.class, parent.nice, parent.slice_ns);
            (task.memory_node, task.mask) = (parent.memory_node, parent.mask);
        } else {
            (task.class, task.nice, task.slice_ns) = (settings.class, settings.nice as i8, settings.slice_ns);
            (task.memory_node, task.mask) =
                (settings.memory_node, settings.mask.map_or(0, |mask| self.tasks.mask(&mask)));
        }
        let footprint = settings.footprint_kib;
        // Physical addresses decide how many pages collide in the caches: the footprint varies by ± a quarter.
        task.footprint_kib =
            footprint - footprint / 4 + self.time.random.below(u64::from(footprint / 2) + 1) as u32;
        task.slice_left = self.rr_slice();
        if parent == NOBODY {
            task.wakee_flips = self.world.machine.inherited_flips;
        } else {
            // dup_task_struct() (kernel/fork.c) copies these fields, and sched_fork() does not reset them.
            let parent = &self.tasks[parent];
            (task.last_wakee, task.wakee_flips, task.flips_period) =
                (parent.last_wakee, parent.wakee_flips, parent.flips_period);
        }
        let nice = task.nice.into();
        let entity = self.rq.policy.entity(weight_of(task.class, nice), nice, task.slice_ns);
        self.tasks.alive += 1;
        self.insert(task, entity, TaskLoad::new(self.time.now), program)
    }

    /// Create a sleeping kernel thread that is bound to a CPU.
    pub(crate) fn spawn_kernel(&mut self, cpu: usize, script: Script) -> TaskIx {
        let mut task = Task::new(NOBODY, NOBODY, Action::Exit);
        (task.state, task.phase, task.kernel, task.cpu) = (State::Sleeping, Phase::Next, true, cpu as u16);
        task.mask = self.tasks.mask(&[cpu].into_iter().collect());
        task.footprint_kib = self.costs.footprint_kib;
        let entity = self.rq.policy.entity(crate::sched::weight::of_nice(0), 0, None);
        let work = script.work();
        let task = self.insert(task, entity, TaskLoad::default(), (script, Cursor::of_nothing()));
        self.numa.born_in_kernel(task);
        self.report_birth(self.time.now, cpu, task, work);
        task
    }

    /// Add a task to the tables.
    fn insert(
        &mut self,
        task: Task,
        entity: P::Entity,
        load: TaskLoad,
        (script, cursor): (Script, Cursor<'c>),
    ) -> TaskIx {
        let task = self.tasks.insert(task, script, cursor);
        self.rq.set_entity(task, entity, load);
        task
    }

    /// Create the task of the program with an ordinal, and start the task.
    pub(super) fn create(&mut self, cpu: usize, ordinal: u32) {
        let (plan, main) = (self.world.plan, self.gate.main);
        if !plan.group(plan.task(ordinal)).started_by_exec() {
            let program = self.program_of(ordinal);
            let task = self.new_task(main, ordinal, program, Action::Ready);
            return self.start_new(cpu, task);
        }
        // The shell's child executes `time`, which forks the process of the program, see `effect_launch()`.
        let nothing = (Script::None, Cursor::of_nothing());
        let timer = self.new_task(main, ordinal, nothing, Action::Start);
        self.tasks[timer].is_child = true;
        self.tasks[main].children += 1;
        self.start_new(cpu, timer);
    }

    /// The program of the task with an ordinal, at its beginning.
    fn program_of(&self, ordinal: u32) -> (Script, Cursor<'c>) {
        let plan = self.world.plan;
        let window_end = plan.program().window.map_or(0, |window| window.end_ns());
        let code = &self.world.codes[self.world.code_of[ordinal as usize] as usize];
        (Script::Program, Cursor::of_task(code, plan.task(ordinal), window_end))
    }

    /// Fork the process that `time` measures. The new process executes the program, and `time` waits for its end.
    pub(super) fn effect_launch(&mut self, cpu: usize, timer: TaskIx) -> Progress {
        if !self.admit_task() {
            return Progress::Done;
        }
        let ordinal = self.tasks[timer].ordinal;
        let program = self.program_of(ordinal);
        let task = self.new_task(timer, ordinal, program, Action::Start);
        let launcher = &mut self.tasks[timer];
        launcher.children += 1;
        launcher.action = Action::Step(Step::Wait { count: None });
        self.start_new(cpu, task);
        Progress::Repeat
    }

    /// Whether there is memory for another task; the simulation ends otherwise.
    fn admit_task(&mut self) -> bool {
        if self.tasks.free.is_empty()
            && let Err(failure) = self.reserve.admit(self.tasks.len() + 1, self.time.now)
        {
            self.failure.get_or_insert(failure);
            self.finished = true;
            return false;
        }
        true
    }

    pub(super) fn effect_fork(&mut self, cpu: usize, parent: TaskIx) -> Progress {
        if !self.admit_task() {
            return Progress::Done;
        }
        let program = (Script::Program, self.tasks.cursors[parent as usize].child());
        let ordinal = self.tasks[parent].ordinal;
        let child = self.new_task(parent, ordinal, program, Action::Exit);
        let forked = &mut self.tasks[child];
        forked.phase = Phase::Next;
        forked.is_child = true;
        forked.thread = false;
        self.tasks[parent].children += 1;
        self.start_new(cpu, child);
        Progress::Done
    }

    /// Choose a CPU for a new task and make the task runnable (`wake_up_new_task()`).
    fn start_new(&mut self, cpu: usize, task: TaskIx) {
        self.records.counters.forks += 1;
        let node = self.topology.places[cpu].node;
        let created = &mut self.tasks[task];
        (created.cpu, created.recent_cpu, created.stack_node) = (cpu as u16, cpu as u16, node);
        self.note_stack(cpu, node.into(), true);
        let thread = self.tasks[task].thread;
        self.numa.born(task, thread.then_some(self.gate.main), self.time.now);
        if thread {
            self.tasks[task].mm = self.tasks[self.gate.main].mm;
        } else {
            self.tasks[task].mm = self.physics.tlbs.new_space();
            self.numa.forked(self.tasks[task].parent, task);
        }
        let target = self.select_task_rq_fork(cpu, task);
        if !thread {
            let elsewhere = self.costs.child_start_remote.at(self.topology.distance(cpu, target));
            let start = Ns::from(self.costs.child_start) + elsewhere;
            self.tasks[task].segment = Segment::new(Account::Family, start);
        }
        if target != cpu {
            self.records.counters.spread_migrations[self.topology.distance(cpu, target) as usize] += 1;
        }
        self.update_curr(cpu);
        let parent = self.cpus[cpu].current;
        let parent = (self.tasks[parent].class.realtime().is_none()).then_some(parent);
        self.rq.policy.task_fork(&self.rq.queues[cpu], &mut self.rq.entities, parent, task, self.time.now);
        self.lock_and_fetch_queue(cpu, target);
        self.activate_task(target, task, Enqueue::New);
        self.charge_waking(cpu, target);
        if self.stats.on {
            self.stats_enqueue(cpu, task);
        }
        let clock = self.cpus[cpu].clock;
        self.tasks[task].woken_at = clock;
        self.report_birth(clock, cpu, task, None);
        self.records.observer.woken(clock, cpu, task, target, false);
        self.check_preempt_curr(cpu, target, task);
    }

    /// Report a new task to the observer.
    pub(super) fn report_birth(&mut self, at: Ns, cpu: usize, task: TaskIx, work: Option<&'static str>) {
        let (plan, created) = (self.world.plan, &self.tasks[task]);
        let parent = (created.parent != NOBODY).then_some(created.parent);
        let name = || created.name(plan);
        let birth = Birth { task, parent, thread: created.thread, work, name: &name };
        self.records.observer.created(at, cpu, birth);
    }

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
                let pages = bytes.div_ceil(PAGE);
                self.records.counters.page_faults += pages;
                let place = self.topology.places[cpu];
                let execed = &mut self.tasks[task];
                let node = execed.memory_node.map_or(place.node, u16::from);
                (execed.image_node, execed.image_pages) = (node, pages.try_into().unwrap_or(u32::MAX));
                self.note_faults(cpu, node.into(), pages);
                self.physics.caches.flow(place.core.into(), place.cache.into(), bytes / 1024, bytes / 1024);
                let lists = self.page_lists(cpu, node.into(), pages);
                Progress::Segment(Segment::new(
                    Account::Fault,
                    pages * Ns::from(self.costs.page_fault) + lists,
                ))
            }
            Action::Work { ns } => Progress::Segment(self.image_part(cpu, task, ns)),
            Action::Command => Progress::Done,
            Action::Vmstat(duty) => Progress::Segment(self.begin_vmstat(cpu, duty)),
            Action::Exit => {
                if self.tasks[task].thread {
                    return Progress::Segment(Segment::new(Account::Family, self.costs.exit_thread.into()));
                }
                self.write_inherited(cpu, task);
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
