//! Control groups: their tasks' CPUs, bandwidth control, and changes of their settings.

use super::Engine;
use crate::balance::KernelPolicy;
use crate::config::GroupSettings;
use crate::kernel::{Throttling, Tunable};
use crate::ledger::Account;
use crate::machine::CpuMask;
use crate::observe::{GroupReport, Observer};
use crate::sched::{Bandwidth, Enqueue, GroupTimer, NOBODY, TaskIx};
use crate::tasks::{Action, Phase, Script, Segment, State, Task};
use crate::time::Ns;

/// Flags in the owner of a timer of the simulation: the group's timers, and changes of groups.
const PERIOD: u32 = 1 << 29;
const SLACK: u32 = 2 << 29;
const CHANGE: u32 = 3 << 29;

/// State of the control groups. Group 0 contains the tasks in no control group.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    list: Vec<Group>,
    /// Affinity of each task, without the restriction by its group.
    affinity: Vec<CpuMask>,
    changes: Vec<(usize, GroupSettings)>,
}

#[derive(Debug)]
struct Group {
    bandwidth: Bandwidth,
    cpus: Option<CpuMask>,
    usage_ns: Ns,
    /// Tasks of each CPU that bandwidth control has stopped at their return to user space (`throttled_limbo_list`).
    limbo: Vec<Vec<TaskIx>>,
    /// CPU that handles the group's timers.
    timer_cpu: usize,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Make the control groups, before all tasks.
    pub(super) fn make_groups(&mut self) {
        let (cpus, configured) = (self.cpus.len(), &self.world.config.control_groups);
        let autogroup = self.tunables.on(Tunable::AutogroupEnabled);
        let ratelimit = self.world.kernel.tg_load_avg_ratelimit;
        let entities = self.rq.make_groups(configured.len() + 1, autogroup, ratelimit, self.time.tick_ns);
        for _ in 0..entities {
            let mut entity = Task::new(NOBODY, NOBODY, Action::Exit);
            (entity.state, entity.kernel) = (State::Dead, true);
            let entity = self.tasks.insert(entity, Script::None, schedlab_workload::Cursor::of_nothing());
            self.numa.born_in_kernel(entity);
        }
        for _ in 0..=configured.len() {
            let bandwidth = Bandwidth::new(cpus, self.time.random.below(crate::time::SECOND));
            let limbo = vec![Vec::new(); cpus];
            self.groups.list.push(Group { bandwidth, cpus: None, usage_ns: 0, limbo, timer_cpu: 0 });
        }
        for (at, group) in configured.iter().enumerate() {
            self.set_group(at + 1, &group.settings);
            for (after, settings) in &group.changes {
                self.start_timer(*after, CHANGE | self.groups.changes.len() as u32);
                self.groups.changes.push((at + 1, settings.clone()));
            }
        }
    }

    fn start_timer(&mut self, at: Ns, owner: u32) {
        self.changes.timers.arm(at, owner);
        self.time.agenda.set(self.cpus.len(), self.changes.timers.next());
    }

    /// Start the timer that an operation on a group's bandwidth has asked for.
    fn start_group_timer(&mut self, cpu: usize, group: usize) {
        if let Some((timer, at)) = self.groups.list[group].bandwidth.starts.take() {
            let flag = if timer == GroupTimer::Period { PERIOD } else { SLACK };
            self.groups.list[group].timer_cpu = cpu;
            self.start_timer(at, flag | group as u32);
        }
    }

    /// Handle a timer of [`Changes`](super::Changes) if the timer belongs to a group.
    pub(super) fn group_timer(&mut self, owner: u32) -> bool {
        let at = (owner & !CHANGE) as usize;
        match owner & CHANGE {
            0 => return false,
            CHANGE => {
                let (group, settings) = self.groups.changes[at].clone();
                self.retuned();
                self.set_group(group, &settings);
            }
            flag => {
                let (now, slice) = (self.time.now, self.bandwidth_slice());
                let group = &mut self.groups.list[at];
                let cpu = group.timer_cpu;
                let freed = if flag == PERIOD {
                    group.bandwidth.period_timer(now)
                } else {
                    group.bandwidth.slack_timer(slice, now)
                };
                self.settle(cpu);
                self.book(cpu, Account::Timer, self.costs.timer_irq);
                self.records.counters.timer_interrupts += 1;
                self.start_group_timer(cpu, at);
                for throttled in freed {
                    self.unthrottle(at, throttled, cpu);
                }
                self.rekey(cpu);
            }
        }
        true
    }

    fn bandwidth_slice(&self) -> Ns {
        self.tunables.non_negative(Tunable::CfsBandwidthSliceUs) * 1000
    }

    /// Change settings of a group. The run times of all CPUs are charged.
    fn set_group(&mut self, group: usize, settings: &GroupSettings) {
        if let Some(weight) = settings.weight {
            self.rq.set_group_weight(group, weight, self.time.now);
        }
        if let Some((quota, period)) = settings.bandwidth {
            self.groups.list[group].bandwidth.set(quota, period, self.time.now);
            self.start_group_timer(0, group);
            for cpu in 0..self.cpus.len() {
                if self.groups.list[group].bandwidth.is_throttled(cpu) {
                    self.unthrottle(group, cpu, 0);
                }
            }
        }
        if let Some(cpus) = settings.cpus {
            self.groups.list[group].cpus = Some(cpus);
            for task in 0..self.groups.affinity.len() as TaskIx {
                if self.tasks[task].state != State::Dead && self.rq.policy.group(task) == group {
                    self.restrict(task, self.groups.affinity[task as usize]);
                    self.leave_forbidden_cpu(task);
                }
            }
        }
    }

    /// Put a new task into a control group. `inherits`: into the group of its parent, whose CPUs it has.
    pub(crate) fn join_group(&mut self, task: TaskIx, name: Option<&str>, inherits: Option<TaskIx>) {
        let named = |name| self.world.config.control_groups.iter().position(|group| group.name == name);
        let group = match inherits {
            Some(parent) => self.rq.policy.group(parent),
            None => name.and_then(named).map_or(0, |at| at + 1),
        };
        self.rq.policy.join(task, group);
        let cpus = inherits.map_or(*self.tasks.allowed(task), |parent| self.groups.affinity[parent as usize]);
        self.restrict(task, cpus);
    }

    /// Allow a task the CPUs of its affinity as far as its group has these CPUs, otherwise all CPUs of its group
    /// (`cpuset_cpus_allowed()`, kernel/cgroup/cpuset.c, v6.12).
    pub(crate) fn restrict(&mut self, task: TaskIx, affinity: CpuMask) {
        let all = &mut self.groups.affinity;
        all.resize(all.len().max(task as usize + 1), CpuMask::EMPTY);
        all[task as usize] = affinity;
        let cpus = self.groups.list[self.rq.policy.group(task)].cpus.unwrap_or(affinity);
        let both = affinity.and(&cpus);
        self.tasks[task].mask = self.tasks.mask(if both.is_empty() { &cpus } else { &both });
    }

    /// Move a task that has lost its CPU to another CPU (`__set_cpus_allowed_ptr()`, kernel/sched/core.c, v6.12). A sleeping task moves
    /// after its wake-up. A throttled task is unthrottled with its group's queue; in a kernel it stays throttled.
    pub(crate) fn leave_forbidden_cpu(&mut self, task: TaskIx) {
        let (cpu, state) = (usize::from(self.tasks[task].cpu), self.tasks[task].state);
        let allowed = *self.tasks.allowed(task);
        let target = allowed.and(&self.rq.idle).lowest().or(allowed.lowest());
        let (false, Some(target)) = (allowed.contains(cpu), target) else { return };
        if state != State::Running && state != State::Waiting {
            return;
        }
        let (group, realtime) = (self.rq.policy.group(task), self.tasks[task].class.realtime().is_some());
        if self.groups.list[group].bandwidth.is_throttled(cpu) {
            self.unthrottle(group, cpu, cpu);
            return self.leave_forbidden_cpu(task);
        }
        self.settle(cpu);
        if state == State::Running {
            self.take_current(cpu);
        } else {
            self.update_curr(cpu);
            if realtime {
                self.cpus[cpu].realtime.remove(task);
                self.rq.sub_nr_running(cpu);
            } else {
                self.rq.detach_task(cpu, task, self.time.now);
            }
        }
        self.note_move(task, cpu, target);
        if self.stats.on {
            self.stats_enqueue(cpu, task);
        }
        self.activate_task(target, task, Enqueue::Moved);
        if state == State::Running {
            self.schedule(cpu);
        } else {
            self.mark_if_idle(cpu);
        }
        self.rekey(cpu);
        self.check_preempt_curr(cpu, target, task);
    }

    /// Charge the group of a CPU's current task for run time (`account_cfs_rq_runtime()`, kernel/sched/fair.c, v5.14 to v6.12).
    pub(super) fn charge_group(&mut self, cpu: usize, task: TaskIx, ran: Ns) {
        let (group, now, slice) = (self.rq.policy.group(task), self.time.now, self.bandwidth_slice());
        let charged = &mut self.groups.list[group];
        charged.usage_ns += ran;
        if self.tasks[task].class.realtime().is_none() {
            self.cpus[cpu].need_resched |= charged.bandwidth.account_cfs_rq_runtime(cpu, ran, slice, now);
            self.start_group_timer(cpu, group);
        }
    }

    /// Throttle the group of a CPU's current task if the group's time is used up (`check_cfs_rq_runtime()`, kernel/sched/fair.c, v5.14 to
    /// v6.12). The CPU may be left without a current task.
    pub(crate) fn check_cfs_rq_runtime(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        if task == NOBODY || self.tasks[task].class.realtime().is_some() {
            return;
        }
        let group = self.rq.policy.group(task);
        if self.throttle(group, cpu) && self.world.kernel.throttling == Some(Throttling::Queue) {
            self.put_off_current(cpu);
            self.rq.policy.put_prev_task(
                &mut self.rq.queues[cpu],
                &mut self.rq.entities,
                task,
                self.time.now,
            );
            self.take_group_off(group, cpu);
        }
    }

    /// Throttle a CPU's queue of a group whose time is used up. Return whether the queue has become throttled.
    fn throttle(&mut self, group: usize, cpu: usize) -> bool {
        let bandwidth = &mut self.groups.list[group].bandwidth;
        let throttled = bandwidth.is_empty(cpu) && bandwidth.throttle_cfs_rq(cpu, self.time.now);
        self.start_group_timer(cpu, group);
        throttled
    }

    /// Take the tasks of a throttled group off a CPU's queue; the CPU runs none of them.
    fn take_group_off(&mut self, group: usize, cpu: usize) {
        let now = self.time.now;
        let (queue, all) = (&mut self.rq.queues[cpu], &mut self.rq.entities);
        let number = self.rq.policy.set_throttled(queue, all, group, true, now);
        if number > 0 {
            self.groups.list[group].bandwidth.record_throttle_clock(cpu, now);
        }
        (0..number).for_each(|_| self.rq.sub_nr_running(cpu));
    }

    /// Switch a CPU's current task out without a successor.
    fn put_off_current(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current;
        if self.stats.on {
            self.stats_take(cpu, task);
            self.stats_enqueue(cpu, task);
        }
        self.switch_out(cpu, task);
        (self.cpus[cpu].current, self.cpus[cpu].segment) = (NOBODY, Segment::EMPTY);
    }

    /// Stop a task that a CPU has picked, if its group is throttled and the task is in user space. Return whether the task is stopped
    /// (`throttle_cfs_rq_work()`, kernel/sched/fair.c, v6.18).
    pub(crate) fn throttle_picked(&mut self, cpu: usize, task: TaskIx) -> bool {
        let group = self.rq.policy.group(task);
        let current = self.cpus[cpu].current == task;
        let segment = if current { &self.cpus[cpu].segment } else { &self.tasks[task].segment };
        let between_calls = segment.left == 0 && self.tasks[task].phase == Phase::Next;
        let in_user = between_calls || (segment.left > 0 && segment.account.is_user());
        if !in_user || !self.stops_at_return_to_user(cpu, task) {
            return false;
        }
        self.cpus[cpu].need_resched = false;
        if current {
            self.put_off_current(cpu);
        }
        self.rq.block(cpu, task, self.time.now);
        self.rq.sub_nr_running(cpu);
        self.groups.list[group].limbo[cpu].push(task);
        self.groups.list[group].bandwidth.record_throttle_clock(cpu, self.time.now);
        true
    }

    /// Whether the current task of a CPU returns to user space and must stop there, so that the CPU has to reschedule
    /// (`task_throttle_setup_work()`, kernel/sched/fair.c, v6.18). The main task opens the gate without interruption.
    pub(crate) fn stops_at_return_to_user(&mut self, cpu: usize, task: TaskIx) -> bool {
        let group = self.rq.policy.group(task);
        let stops = self.groups.list[group].bandwidth.is_throttled(cpu)
            && self.world.kernel.throttling == Some(Throttling::Task)
            && self.tasks[task].class.realtime().is_none()
            && !self.gate.is_opened_by(task);
        self.cpus[cpu].need_resched |= stops;
        stops
    }

    /// Let the tasks of a group run again on a CPU; `by` is the CPU that interrupts an idle CPU (`unthrottle_cfs_rq()`,
    /// kernel/sched/fair.c, v5.14 to v6.18). A task that runs on the CPU continues until its next preemption.
    fn unthrottle(&mut self, group: usize, cpu: usize, by: usize) {
        let now = self.time.now;
        self.settle(cpu);
        self.update_curr(cpu);
        self.groups.list[group].bandwidth.unthrottle_cfs_rq(cpu, now);
        if P::group_state(&self.rq.queues[cpu], group).throttled {
            let (queue, all) = (&mut self.rq.queues[cpu], &mut self.rq.entities);
            let number = self.rq.policy.set_throttled(queue, all, group, false, now);
            (0..number).for_each(|_| self.rq.add_nr_running(cpu, self.topology));
        }
        for task in std::mem::take(&mut self.groups.list[group].limbo[cpu]) {
            self.rq.enqueue(cpu, task, Enqueue::Wake { moved: false, sync: false }, now);
            self.rq.add_nr_running(cpu, self.topology);
        }
        if self.cpus[cpu].current == NOBODY && self.rq.nr_running[cpu] > 0 {
            let latency = if cpu == by { 0 } else { self.costs.ipi.at(self.topology.distance(by, cpu)) };
            self.start_idle_at(cpu, self.cpus[cpu].clock.max(now + latency));
        } else {
            self.rekey(cpu);
        }
    }

    /// Whether a task that joins a CPU's queue cannot compete, because its group is off the queue.
    pub(crate) fn is_kept_off(&self, cpu: usize, task: TaskIx) -> bool {
        self.tasks[task].class.realtime().is_none()
            && P::group_state(&self.rq.queues[cpu], self.rq.policy.group(task)).throttled
    }

    /// After a task has joined a CPU's queue: throttle its group if the group has no time there (`check_enqueue_throttle()`,
    /// kernel/sched/fair.c, v5.14 to v6.18).
    pub(crate) fn check_enqueue_throttle(&mut self, cpu: usize, task: TaskIx) {
        let group = self.rq.policy.group(task);
        let state = P::group_state(&self.rq.queues[cpu], group);
        if group == 0 || self.tasks[task].class.realtime().is_some() || state.number != 1 {
            return;
        }
        if state.throttled {
            self.groups.list[group].bandwidth.record_throttle_clock(cpu, self.time.now);
        } else if !state.current
            && self.throttle(group, cpu)
            && self.world.kernel.throttling == Some(Throttling::Queue)
        {
            self.take_group_off(group, cpu);
            self.mark_if_idle(cpu);
        }
    }

    /// Mark a CPU as idle again whose only task has left before the CPU ran it.
    fn mark_if_idle(&mut self, cpu: usize) {
        if self.cpus[cpu].current == NOBODY && self.rq.nr_running[cpu] == 0 {
            self.rq.mark_idle(cpu, self.topology);
        }
    }

    /// Return a CPU's rest of the time of a task's group, unless the CPU has a runnable task of this group
    /// (`return_cfs_rq_runtime()`).
    pub(crate) fn return_cfs_rq_runtime(&mut self, cpu: usize, task: TaskIx) {
        let (group, slice) = (self.rq.policy.group(task), self.bandwidth_slice());
        if P::group_state(&self.rq.queues[cpu], group).number == 0 {
            self.groups.list[group].bandwidth.return_cfs_rq_runtime(cpu, slice, self.time.now);
            self.start_group_timer(cpu, group);
        }
    }

    /// Whether balancing may not move a task, because its group is throttled on the CPU that would receive it (`throttled_lb_pair()`).
    pub(crate) fn throttled_lb_pair(&self, task: TaskIx, target: usize) -> bool {
        self.groups.list[self.rq.policy.group(task)].bandwidth.is_throttled(target)
    }

    /// The groups' counters, see `cpu.stat`.
    pub(super) fn group_reports(&self) -> Vec<GroupReport> {
        let named = self.world.config.control_groups.iter().zip(self.groups.list.iter().skip(1));
        let report = |(group, state): (&crate::config::ControlGroup, &Group)| GroupReport {
            name: group.name.clone(),
            usage_ns: state.usage_ns,
            nr_periods: state.bandwidth.nr_periods,
            nr_throttled: state.bandwidth.nr_throttled,
            throttled_ns: state.bandwidth.throttled_ns,
        };
        named.map(report).collect()
    }

    /// Visit the waiting tasks that bandwidth control keeps off a CPU's queue.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub(super) fn stopped_tasks(&self, cpu: usize, mut visit: impl FnMut(TaskIx)) {
        P::throttled(&self.rq.queues[cpu], &mut visit);
        self.groups.list.iter().flat_map(|group| &group.limbo[cpu]).copied().for_each(visit);
    }
}
