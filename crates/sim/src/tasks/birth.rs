//! New tasks: their attributes, their programs, and the CPU on which they start.

use schedlab_workload::program::Mode;
use schedlab_workload::{Cursor, Step};

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::observe::{Birth, Observer};
use crate::sched::{DlEntity, Enqueue, NOBODY, TaskIx, TaskLoad};
use crate::tasks::attributes::weight_of;
use crate::tasks::exec::{Progress, Script};
use crate::tasks::{Action, Class, Phase, Segment, State, Task};
use crate::time::Ns;

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
        let inherits = parent != NOBODY && ordinal != NOBODY && self.tasks[parent].ordinal == ordinal;
        if inherits {
            // A child inherits the attributes that its parent has now (sched_fork(), kernel/sched/core.c). Only a deadline task with
            // SCHED_FLAG_RESET_ON_FORK can fork.
            let parent = &self.tasks[parent];
            let class = if parent.class.is_deadline() { Class::Normal } else { parent.class };
            (task.class, task.nice, task.slice_ns) = (class, parent.nice, parent.slice_ns);
            (task.memory_node, task.mask) = (parent.memory_node, parent.mask);
        } else {
            (task.class, task.nice, task.slice_ns) = (settings.class, settings.nice as i8, settings.slice_ns);
            (task.memory_node, task.mask) = (
                settings.memory_node.map(|node| node as u8),
                settings.cpus.map_or(0, |mask| self.tasks.mask(&mask)),
            );
        }
        let footprint = settings.footprint_kib.unwrap_or(self.costs.footprint_kib);
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
        // Simulation::new() has checked that the tasks of all groups fit.
        let budget = settings.budget.filter(|_| task.class.is_deadline());
        self.tasks.alive += 1;
        let task = self.insert(task, entity, self.rq.new_task_load(self.time.now), program);
        if let Some(budget) = budget {
            self.deadlines.entities.insert(task, DlEntity::new(budget));
        }
        if P::GROUPS {
            self.join_group(task, settings.control_group.as_deref(), inherits.then_some(parent));
        }
        task
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
        if P::GROUPS {
            self.join_group(task, None, None);
        }
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
        // The launcher sets SCHED_FLAG_RESET_ON_FORK for the tasks of a workload, a program does not (`sched_fork()`,
        // kernel/sched/core.c, v6.12).
        let resets = self.world.settings[self.world.plan.task(ordinal).group].class.is_deadline();
        if self.tasks[parent].class.is_deadline() && !resets {
            return Progress::Failed("EAGAIN: a deadline task cannot fork".to_owned());
        }
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
}
