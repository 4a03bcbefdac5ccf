//! Time on a CPU: accounting for elapsed time, booking kernel work, charging tasks, and scheduling the next event.

use super::{Engine, FULL};
use crate::balance::KernelPolicy;
use crate::ledger::Account;
use crate::observe::Observer;
use crate::sched::NOBODY;
use crate::tasks::{CACHE, CARRY, EXTRAS};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Account for a CPU's time up to now.
    #[inline]
    pub(crate) fn settle(&mut self, cpu: usize) {
        if self.cpus[cpu].clock < self.time.now {
            self.settle_to(cpu, self.time.now);
        }
    }

    /// Account for a CPU's time up to `at`, which is not before its clock.
    pub(crate) fn settle_to(&mut self, cpu: usize, at: Ns) {
        let cpu_state = &mut self.cpus[cpu];
        let passed = at - cpu_state.clock;
        if cpu_state.current == NOBODY {
            self.spend(cpu, Account::Idle, passed);
            return;
        }
        if cpu_state.at_full_rate() && !cpu_state.segment.watched {
            self.work(cpu, passed);
            return;
        }
        self.work_at_rate(cpu, at, passed);
    }

    /// Account for time in which a CPU did not run at full speed, or a task watched the clock.
    #[inline(never)]
    fn work_at_rate(&mut self, cpu: usize, at: Ns, passed: Ns) {
        let cpu_state = &mut self.cpus[cpu];
        let part = |rate: u32| passed * Ns::from(rate) / Ns::from(FULL);
        let work =
            if cpu_state.at_full_rate() { passed } else { part(cpu_state.rate).min(cpu_state.segment.left) };
        let core_time = if cpu_state.speed == FULL { work } else { part(cpu_state.share.into()) };
        if passed > core_time {
            cpu_state.user_ns += passed - core_time;
            self.spend(cpu, Account::Smt, passed - core_time);
        }
        if self.cpus[cpu].segment.watched {
            self.look_at_clock(cpu, at, passed, work);
        }
        if core_time == work {
            self.work(cpu, work);
        } else {
            self.work_at_speed(cpu, work, core_time);
        }
        debug_assert_eq!(self.cpus[cpu].clock, at, "the elapsed time is accounted for");
    }

    /// Spend `work` ns of a CPU's segment, the segment's extras first. Fast path for segments that have no other extras than
    /// carried work and a cache refill. Both extras are added even if an extra is 0, because a test would cost more.
    #[inline]
    fn work(&mut self, cpu: usize, work: Ns) {
        let cpu_state = &mut self.cpus[cpu];
        debug_assert!(work <= cpu_state.segment.left, "work is part of the current segment");
        let [carry, cache, rare @ ..] = &mut cpu_state.segment.extras;
        if *rare != [0; EXTRAS.len() - 2] {
            return self.work_with_extras(cpu, work);
        }
        cpu_state.segment.left -= work;
        let carry = take(carry, work);
        let cache = take(cache, work - carry);
        let (rest, account, from) = (work - carry - cache, cpu_state.segment.account, cpu_state.clock);
        cpu_state.clock = from + work;
        cpu_state.user_ns += carry + cache + if account.is_user() { rest } else { 0 };
        self.spend_extra(from, cpu, EXTRAS[CARRY], carry);
        self.spend_extra(from + carry, cpu, EXTRAS[CACHE], cache);
        self.records.ledger.add(cpu, account, rest);
        self.records.observer.spent(from + carry + cache, cpu, account, rest);
    }

    /// Spend `work` ns of a CPU's segment, as [`Engine::work`] does, for a segment with any extras.
    #[inline(never)]
    fn work_with_extras(&mut self, cpu: usize, work: Ns) {
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.segment.left -= work;
        let (mut rest, mut from) = (work, cpu_state.clock);
        cpu_state.clock = from + work;
        // Without tests for extras that are 0, so that the loops are unrolled.
        let parts = cpu_state.segment.extras.each_mut().map(|extra| {
            let part = take(extra, rest);
            rest -= part;
            part
        });
        let user = |account: Account, ns: Ns| if account.is_user() { ns } else { 0 };
        let account = cpu_state.segment.account;
        let extra_user: Ns = EXTRAS.iter().zip(parts).map(|(account, part)| user(*account, part)).sum();
        cpu_state.user_ns += extra_user + user(account, rest);
        for (account, part) in EXTRAS.iter().zip(parts) {
            self.spend_extra(from, cpu, *account, part);
            from += part;
        }
        self.records.ledger.add(cpu, account, rest);
        self.records.observer.spent(from, cpu, account, rest);
    }

    /// Spend `work` ns of a CPU's segment, the segment's extras first, for which the CPU took `core_time`. Each part takes
    /// its share of this time.
    #[inline(never)]
    fn work_at_speed(&mut self, cpu: usize, work: Ns, core_time: Ns) {
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.segment.left -= work;
        let (mut from, mut rest, mut time_left) = (cpu_state.clock, work, core_time);
        cpu_state.clock = from + core_time;
        let times = cpu_state.segment.extras.each_mut().map(|extra| {
            let part = take(extra, rest);
            let time = if part > 0 { part * time_left / rest } else { 0 };
            rest -= part;
            time_left -= time;
            time
        });
        let of_segment = [(self.cpus[cpu].segment.account, time_left)];
        for (account, time) in EXTRAS.iter().copied().zip(times).chain(of_segment) {
            if account.is_user() {
                self.cpus[cpu].user_ns += time;
            }
            self.spend_extra(from, cpu, account, time);
            from += time;
        }
    }

    /// Add an extra to an account. Report the time to the observer unless the time is 0.
    #[inline]
    fn spend_extra(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {
        self.records.ledger.add(cpu, account, ns);
        if ns > 0 {
            self.records.observer.spent(from, cpu, account, ns);
        }
    }

    /// Move a CPU's clock forward and add the time to an account.
    #[inline]
    pub(super) fn spend(&mut self, cpu: usize, account: Account, ns: Ns) {
        let from = self.cpus[cpu].clock;
        self.cpus[cpu].clock = from + ns;
        self.records.ledger.add(cpu, account, ns);
        self.records.observer.spent(from, cpu, account, ns);
    }

    /// Book kernel work on a CPU, after the work that is already booked.
    #[inline]
    pub(crate) fn book(&mut self, cpu: usize, account: Account, ns: impl Into<Ns>) {
        self.book_time(cpu, account, self.cpus[cpu].duration(ns.into()));
    }

    /// Book `ns` that the CPU's speed does not change, such as a wait for another CPU, after the work that is already booked.
    #[inline]
    pub(crate) fn book_time(&mut self, cpu: usize, account: Account, ns: Ns) {
        let cpu_state = &mut self.cpus[cpu];
        debug_assert!(cpu_state.clock >= self.time.now, "the CPU is settled");
        let from = cpu_state.clock;
        cpu_state.clock += ns;
        // The ledger ends at the horizon.
        let counted = if cpu_state.clock > self.time.horizon {
            self.time.horizon.saturating_sub(from).min(ns)
        } else {
            ns
        };
        self.records.ledger.add(cpu, account, counted);
        self.records.observer.spent(from, cpu, account, counted);
    }

    /// Charge the current task for the time up to its CPU's clock (`update_curr()`, kernel/sched/fair.c, v4.5 to v6.12).
    #[inline]
    pub(crate) fn update_curr(&mut self, cpu: usize) {
        let cpu_state = &self.cpus[cpu];
        if cpu_state.current != NOBODY && cpu_state.clock != cpu_state.charged_at {
            self.update_curr_slowly(cpu);
        }
    }

    /// Update the current task's run time at the beginning of schedule(), unless a wake-up that preempts the task has done so. The next
    /// task pays for what schedule() does.
    #[inline]
    pub(crate) fn end_run(&mut self, cpu: usize) {
        if !std::mem::take(&mut self.cpus[cpu].skips_update) || !P::SKIPS_UPDATES {
            self.update_curr(cpu);
        }
    }

    fn update_curr_slowly(&mut self, cpu: usize) {
        let cpu_state = &mut self.cpus[cpu];
        let (task, ran) = (cpu_state.current, cpu_state.clock - cpu_state.charged_at);
        cpu_state.charged_at = cpu_state.clock;
        let task_data = &mut self.tasks[task];
        task_data.ran_ns += ran;
        task_data.ran_at = cpu_state.clock;
        if task_data.class.realtime().is_none() {
            if self.rq.policy.update_curr(&mut self.rq.queues[cpu], &mut self.rq.entities, task, ran) {
                self.cpus[cpu].need_resched = true;
            }
        } else {
            task_data.slice_left = task_data.slice_left.saturating_sub(ran);
            if task_data.class.is_deadline() {
                self.update_curr_dl(cpu, task, ran);
            }
        }
        if P::GROUPS {
            self.charge_group(cpu, task, ran);
        }
    }

    /// Whether a busy CPU needs its tick. A deadline task does even if it is alone (`sched_can_stop_tick()`, kernel/sched/core.c,
    /// v4.5 to v6.12).
    #[inline]
    pub(crate) fn tick_wanted(&self, cpu: usize) -> bool {
        !(self.cpus[cpu].nohz_full
            && self.rq.nr_running[cpu] <= 1
            && !self.tasks[self.cpus[cpu].current].class.is_deadline())
    }

    /// Put a CPU's next event on the agenda.
    #[inline]
    pub(crate) fn rekey(&mut self, cpu: usize) {
        let cpu_state = &self.cpus[cpu];
        let mut at = cpu_state.timer_at.min(cpu_state.ipi_at);
        if cpu_state.current != NOBODY {
            at = at.min(cpu_state.end());
            // Ticks handle deferrable timers. A busy CPU without ticks gets an interrupt for the timers.
            at = at.min(if self.tick_wanted(cpu) { cpu_state.tick_at } else { self.vmstat.workers.due[cpu] });
        } else if P::TICKS_WHEN_IDLE {
            at = at.min(cpu_state.tick_at);
        }
        self.time.agenda.set_but_last(cpu, at.max(self.time.now));
    }
}

/// Take up to `limit` ns from an extra. Return the time taken.
#[inline]
fn take(extra: &mut u32, limit: Ns) -> Ns {
    let part = limit.min((*extra).into());
    *extra -= part as u32;
    part
}
