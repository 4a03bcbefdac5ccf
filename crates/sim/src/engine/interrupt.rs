//! Interrupts: timers, ticks, and IPIs from other CPUs.

use super::{Engine, FULL};
use crate::balance::KernelPolicy;
use crate::ledger::Account;
use crate::machine::IdleState;
use crate::observe::Observer;
use crate::sched::{NOBODY, Rank, TaskIx};
use crate::tasks::Class;
use crate::time::{NEVER, Ns, Timer};

/// Timer slack of ordinary tasks (prctl(2), `PR_SET_TIMERSLACK`). Timers of real-time tasks have no slack.
const SLACK_NS: Ns = 50_000;

/// Flag in a timer's owner: the timer has no slack.
const EXACT: u32 = 1 << 31;

/// Flag in a timer's owner: the timer is a flow's, for a delayed acknowledgement.
const DELAYED_ACK: u32 = 1 << 30;

/// Flag in a timer's owner: the timer replenishes a deadline task.
const REPLENISHES: u32 = 1 << 29;

/// Owner of the timer that begins a CPU's next interruption by the machine's noise.
const NOISE: u32 = u32::MAX;

/// Owner of the timer at which a core's next speed is drawn.
const SPEED: u32 = u32::MAX - 1;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Handle the timer interrupt of a CPU. The interrupt wakes an idle CPU.
    pub(super) fn timer_interrupt(&mut self, cpu: usize) {
        if self.cpus[cpu].timers.first().is_some_and(|timer| timer.owner >= SPEED) {
            return self.disturb(cpu);
        }
        let idle = self.cpus[cpu].current == NOBODY;
        if idle {
            let exit = self.idle_exit(self.cpus[cpu].clock.saturating_sub(self.cpus[cpu].idle_since));
            self.book_time(cpu, Account::IdleExit, exit);
        }
        self.book(cpu, Account::Timer, self.costs.timer_irq);
        self.records.counters.timer_interrupts += 1;
        self.expire(cpu);
        if idle && self.rq.nr_running[cpu] > 0 {
            self.leave_idle(cpu);
            self.schedule(cpu);
        }
    }

    /// Draw each core's speed, and arm the timers of the next draw and of each CPU's first interruption by the machine's noise.
    pub(crate) fn start_disturbances(&mut self) {
        for cpu in 0..self.cpus.len() {
            if self.topology.siblings(self.topology.core(cpu)).next() == Some(cpu) {
                self.draw_speed(cpu);
            }
            self.arm_noise(cpu);
        }
    }

    /// Interrupt a CPU or change its core's speed, as the owner of its first timer says. No interrupt of the kernel is handled.
    fn disturb(&mut self, cpu: usize) {
        match self.cpus[cpu].timers.pop() {
            Some(timer) if timer.owner == NOISE => self.interruption(cpu),
            _ => self.draw_speed(cpu),
        }
    }

    fn arm_noise(&mut self, cpu: usize) {
        if let Some(noise) = &self.world.machine.noise {
            let after = self.time.random.below(2 * noise.mean_interval_ns);
            self.arm_disturbance(cpu, NOISE, after);
        }
    }

    fn arm_disturbance(&mut self, cpu: usize, owner: u32, after: Ns) {
        self.cpus[cpu].timers.arm(self.time.now + 1 + after, owner);
        self.cpus[cpu].note_timers();
        self.rekey(cpu);
    }

    /// Interrupt a CPU for a length drawn from the machine's noise. An idle CPU loses nothing.
    fn interruption(&mut self, cpu: usize) {
        let Some(noise) = &self.world.machine.noise else { return };
        let length = noise.lengths_ns[self.time.random.below(noise.lengths_ns.len() as u64) as usize];
        if self.cpus[cpu].current != NOBODY {
            self.book_time(cpu, Account::Noise, length.into());
        }
        self.arm_noise(cpu);
    }

    /// Draw a speed for the core whose first CPU is `cpu`, until the next draw.
    fn draw_speed(&mut self, cpu: usize) {
        let Some(speeds) = &self.world.machine.speeds else { return };
        let drawn = self.time.speeds.below(speeds.durations_permille.len() as u64) as usize;
        let duration = speeds.durations_permille[drawn];
        let after = self.time.speeds.below(2 * speeds.mean_interval_ns);
        for sibling in self.topology.siblings(self.topology.core(cpu)) {
            self.settle(sibling);
            self.cpus[sibling].speed = ((u32::from(FULL) * 1000 + duration / 2) / duration) as u16;
            self.cpus[sibling].update_rate();
            self.rekey(sibling);
        }
        self.arm_disturbance(cpu, SPEED, after);
    }

    /// Handle the interrupt of a deferrable timer on a busy CPU without ticks.
    pub(super) fn deferrable_interrupt(&mut self, cpu: usize) {
        self.book(cpu, Account::Timer, self.costs.timer_irq);
        self.records.counters.timer_interrupts += 1;
        self.fold_is_due(cpu);
    }

    /// Wake the owners of due timers. After its set time, a timer fires at the next interrupt. At the end of its slack,
    /// a timer causes an interrupt (prctl(2), `PR_SET_TIMERSLACK`).
    fn expire(&mut self, cpu: usize) {
        self.cpus[cpu].in_interrupt = true;
        while let Some(timer) = self.cpus[cpu].timers.first() {
            if soft(timer) > self.time.now {
                break;
            }
            if timer.owner >= SPEED {
                self.disturb(cpu);
                continue;
            }
            self.cpus[cpu].timers.pop();
            let owner = timer.owner & !EXACT;
            if owner & DELAYED_ACK != 0 {
                self.delayed_ack(cpu, (owner & !DELAYED_ACK) as usize);
            } else if owner & REPLENISHES != 0 {
                self.dl_task_timer(cpu, owner & !REPLENISHES, timer.at);
            } else {
                self.try_to_wake_up(cpu, owner, false);
            }
        }
        self.cpus[cpu].note_timers();
        self.cpus[cpu].in_interrupt = false;
    }

    /// Arm a timer on a CPU. The timer wakes a task at `at`, or an ordinary task up to the slack later.
    #[inline]
    pub(crate) fn arm(&mut self, cpu: usize, task: TaskIx, at: Ns) {
        let exact = self.tasks[task].class.realtime().is_some();
        let (at, owner) = if exact { (at, task | EXACT) } else { (at + SLACK_NS, task) };
        self.cpus[cpu].timers.arm(at, owner);
        self.cpus[cpu].note_timers();
    }

    /// Arm a timer without slack on a CPU. The timer wakes a kernel thread at `at`.
    pub(crate) fn arm_exact(&mut self, cpu: usize, task: TaskIx, at: Ns) {
        self.cpus[cpu].timers.arm(at, task | EXACT);
        self.cpus[cpu].note_timers();
    }

    /// Arm the timer of a deadline task's replenishment on a CPU.
    pub(crate) fn arm_dl_timer(&mut self, cpu: usize, task: TaskIx, at: Ns) {
        self.arm_exact(cpu, task | REPLENISHES, at);
        self.rekey(cpu);
    }

    /// Arm the timer of a flow's delayed acknowledgement on a CPU.
    pub(crate) fn arm_delayed_ack(&mut self, cpu: usize, flow: usize, at: Ns) {
        self.arm_exact(cpu, flow as u32 | DELAYED_ACK, at);
    }

    /// Handle the tick of a busy CPU (`scheduler_tick()`, kernel/sched/core.c, v4.5 and v5.14; `sched_tick()` in v6.12).
    pub(super) fn tick(&mut self, cpu: usize) {
        self.records.counters.ticks += 1;
        self.advance_tick(cpu);
        self.book(cpu, Account::Tick, self.costs.tick);
        if self.cpus[cpu].timer_soft_at <= self.time.now {
            self.expire(cpu);
        }
        if self.vmstat.workers.due[cpu] <= self.time.now {
            self.fold_is_due(cpu);
        }
        self.update_curr(cpu);
        let current = self.cpus[cpu].current;
        let mut migrates = false;
        if self.tasks[current].class.realtime().is_some() {
            self.task_tick_rt(cpu);
        } else {
            if self.rq.policy.task_tick(
                &mut self.rq.queues[cpu],
                &mut self.rq.entities,
                current,
                self.time.now,
            ) {
                self.cpus[cpu].need_resched = true;
            }
            self.rq.update_load_avg(cpu, current, self.time.now);
            migrates = self.numa.on && self.task_tick_numa(cpu, current);
        }
        P::balance_tick(self, cpu);
        if migrates && self.cpus[cpu].current == current {
            self.task_numa_migrate(cpu);
        }
    }

    /// Move a CPU's tick to its next time after now.
    #[inline]
    pub(crate) fn advance_tick(&mut self, cpu: usize) {
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.tick_at += self.time.tick_ns;
        if cpu_state.tick_at <= self.time.now {
            cpu_state.tick_at = self.time.next_tick(cpu_state.tick_at, self.time.now);
        }
    }

    /// Reschedule when the slice of a SCHED_RR task is over, so that the task moves behind other tasks of its priority
    /// (`task_tick_rt()`, kernel/sched/rt.c, v4.5 to v6.12).
    fn task_tick_rt(&mut self, cpu: usize) {
        let current = self.cpus[cpu].current;
        let Class::RoundRobin(priority) = self.tasks[current].class else { return };
        if self.tasks[current].slice_left > 0 {
            return;
        }
        self.tasks[current].slice_left = self.rr_slice();
        if self.cpus[cpu].realtime.highest() == Rank::of_priority(priority) {
            self.cpus[cpu].turn_over = true;
            self.cpus[cpu].need_resched = true;
        }
    }

    pub(crate) fn rr_slice(&self) -> Ns {
        self.tunables.ms_as_ns(crate::kernel::Tunable::RrTimesliceMs)
    }

    /// Handle the IPI by which another CPU makes this CPU reschedule.
    pub(super) fn ipi_arrives(&mut self, cpu: usize) {
        self.cpus[cpu].ipi_at = NEVER;
        self.book(cpu, Account::Ipi, self.costs.ipi_handler);
        if self.cpus[cpu].current == NOBODY {
            if self.rq.nr_running[cpu] > 0 {
                self.leave_idle(cpu);
                self.schedule(cpu);
            }
        } else {
            self.cpus[cpu].need_resched = true;
            if P::MOVES_REALTIME && self.cpus[cpu].realtime.highest() > Rank::ORDINARY {
                self.push_rt_tasks(cpu);
            }
        }
    }

    /// Send a CPU an IPI to reschedule (`smp_send_reschedule()`).
    pub(crate) fn send_ipi(&mut self, from: usize, to: usize) {
        let latency = self.costs.ipi.at(self.topology.distance(from, to));
        let sender = &self.cpus[from];
        let arrives = sender.clock + sender.duration(self.costs.ipi_send.into()) + latency;
        if self.cpus[to].ipi_at <= arrives {
            return;
        }
        self.book(from, Account::Ipi, self.costs.ipi_send);
        self.records.counters.ipis += 1;
        self.cpus[to].ipi_at = arrives;
        self.rekey(to);
    }

    /// Exit latency of the idle state that a CPU is in after `idled` ns of idleness.
    pub(crate) fn idle_exit(&self, idled: Ns) -> Ns {
        // A fold over all states, without an unpredictable branch. The last state that fits is the deepest.
        let deepest = |exit, state: &IdleState| if state.after_ns <= idled { state.exit_ns } else { exit };
        self.world.machine.idle.iter().fold(0, deepest).into()
    }
}

/// Earliest time at which a timer may fire.
pub(super) fn soft(timer: Timer) -> Ns {
    if timer.owner & EXACT == 0 { timer.at - SLACK_NS } else { timer.at }
}
