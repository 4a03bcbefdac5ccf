//! Choice of the next task of a CPU, and the context switch to this task.

use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::ledger::Account;
use crate::machine::Distance;
use crate::observe::Observer;
use crate::sched::{NOBODY, Rank, TaskIx};
use crate::tasks::{Segment, State};
use crate::time::Ns;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Choose the next task of a CPU and switch to this task (`__schedule()`, kernel/sched/core.c, v4.5 to v6.12). The
    /// CPU's clock has been settled.
    pub(crate) fn schedule(&mut self, cpu: usize) {
        let began = self.cpus[cpu].clock;
        self.cpus[cpu].need_resched = false;
        let fetched = self.fetch_runqueue(cpu, cpu);
        self.book(cpu, Account::Switch, fetched);
        self.end_run(cpu);
        let mut previous = self.dequeue_throttled(cpu, self.cpus[cpu].current);
        self.book(cpu, Account::Switch, self.costs.schedule);
        if self.stats.on {
            self.stats_queue(cpu, |counts| &mut counts.sched_count);
        }
        self.cpus[cpu].need_resched = false;
        if P::GROUPS {
            self.check_cfs_rq_runtime(cpu);
            previous = self.cpus[cpu].current;
        }
        // A loop with a single call site, so that pick_next_task() is inlined.
        let (mut runnable, mut first_pick) = (previous, true);
        let next = loop {
            let next = self.pick_next_task(cpu, runnable);
            if P::GROUPS
                && let Some(task) = next
                && self.throttle_picked(cpu, task)
            {
                previous = self.cpus[cpu].current;
                runnable = NOBODY;
                continue;
            }
            if next.is_some() || !std::mem::take(&mut first_pick) || !P::newidle_balance(self, cpu) {
                break next;
            }
            runnable = NOBODY;
            self.cpus[cpu].charged_at = self.cpus[cpu].clock;
        };
        match next {
            Some(task) if task == previous => {}
            Some(task) => self.switch_to(cpu, previous, task, began),
            None => self.go_idle(cpu),
        }
        if P::MOVES_REALTIME && self.cpus[cpu].realtime.highest() > Rank::ORDINARY {
            self.push_rt_tasks(cpu);
        }
    }

    /// Choose the next task of a CPU (`pick_next_task()`, kernel/sched/core.c, v4.5 to v6.12). `previous` is the current
    /// task if the task is still runnable, otherwise [`NOBODY`]. `previous` returns to its queue if another task is
    /// chosen.
    #[inline(always)]
    fn pick_next_task(&mut self, cpu: usize, previous: TaskIx) -> Option<TaskIx> {
        let previous = (previous != NOBODY).then_some(previous);
        let realtime = previous.is_some_and(|task| self.tasks[task].class.realtime().is_some());
        let highest = self.cpus[cpu].realtime.highest();
        if highest > Rank::ORDINARY {
            return self.pick_next_task_rt(cpu, previous, highest);
        }
        if realtime {
            return previous;
        }
        self.rq.pick_next_task(cpu, previous, self.time.now)
    }

    /// As [`Engine::pick_next_task`], when a real-time or deadline task of rank `highest` waits (`pick_next_task_rt()`,
    /// kernel/sched/rt.c, and `pick_next_task_dl()`, kernel/sched/deadline.c, v4.5 to v5.14).
    #[cold]
    #[inline(never)]
    fn pick_next_task_rt(&mut self, cpu: usize, previous: Option<TaskIx>, highest: Rank) -> Option<TaskIx> {
        let ranked = previous.map(|task| (task, self.rank(task)));
        if let Some((task, rank)) = ranked.filter(|ranked| ranked.1 > Rank::ORDINARY) {
            // A task of equal priority runs only if the current task has used up its slice or has yielded.
            let turn_over = std::mem::take(&mut self.cpus[cpu].turn_over);
            if rank > highest || (rank == highest && !turn_over) {
                return previous;
            }
            self.cpus[cpu].realtime.insert(rank, task, rank < highest);
        } else if let Some(task) = previous {
            self.rq.policy.put_prev_task(
                &mut self.rq.queues[cpu],
                &mut self.rq.entities,
                task,
                self.time.now,
            );
        }
        self.cpus[cpu].realtime.pop()
    }

    /// Switch a CPU from `previous`, or from idle if `previous` is [`NOBODY`], to `next`. `began` is the time at which
    /// schedule() began.
    fn switch_to(&mut self, cpu: usize, previous: TaskIx, next: TaskIx, began: Ns) {
        self.records.counters.switches += 1;
        if self.stats.on {
            self.stats_switch(cpu, previous, next);
        }
        if previous != NOBODY {
            self.switch_out(cpu, previous);
        }
        let was_idle = self.cpus[cpu].current == NOBODY && previous == NOBODY;
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.current = next;
        cpu_state.user_ns = 0;
        let from = (previous != NOBODY).then_some(previous);
        self.records.observer.switched(self.cpus[cpu].clock, cpu, from, Some(next));
        self.book(cpu, Account::Switch, self.costs.switch);
        let mm = self.tasks[next].mm;
        if self.costs.tlb_refill > 0 && mm != 0 && self.physics.tlbs.load(cpu, mm) {
            self.book(cpu, Account::Switch, self.costs.tlb_refill);
        }
        let (switched, mmdrop) = (self.cpus[cpu].clock, self.costs.atomic);
        let busy = self.rq.policy.context_switch(&mut self.rq.queues[cpu], began, switched, mmdrop);
        if busy > 0 {
            self.book_time(cpu, Account::Switch, busy);
        }
        let (clock, place) = (self.cpus[cpu].clock, self.topology.places[cpu]);
        let task_data = &mut self.tasks[next];
        task_data.state = State::Running;
        task_data.ran_at = clock;
        self.cpus[cpu].segment = task_data.segment;
        task_data.segment = Segment::EMPTY;
        if task_data.woken_at != 0 {
            let latency = clock.saturating_sub(task_data.woken_at);
            task_data.woken_at = 0;
            self.note_latency(cpu, next, latency);
        }
        let (task_data, topology) = (&self.tasks[next], self.topology);
        let from = || match task_data.warmth.node {
            u16::MAX => Distance::Node,
            node => topology.memory_distance(cpu, node.into()),
        };
        let refill = self.physics.caches.refill(
            &task_data.warmth,
            task_data.footprint_kib,
            place.core,
            place.cache,
            from,
        );
        if was_idle {
            self.smt_changed(cpu);
        }
        self.resume(cpu, next, refill);
    }

    /// Switch out a task that is still runnable.
    #[inline(always)]
    pub(crate) fn switch_out(&mut self, cpu: usize, previous: TaskIx) {
        self.records.counters.preemptions += 1;
        self.tasks[previous].involuntary += 1;
        self.tasks[previous].preempted = true;
        self.save_user(cpu);
        self.leave_core(cpu, previous);
        let task_data = &mut self.tasks[previous];
        task_data.state = State::Waiting;
        task_data.segment = self.cpus[cpu].segment;
    }

    fn note_latency(&mut self, cpu: usize, task: TaskIx, latency: Ns) {
        self.records.histograms.wakeup_latency[cpu].add(latency);
        let latencies = &mut self.tasks.latencies[task as usize];
        latencies.sum += latency;
        latencies.most = latencies.most.max(latency);
    }

    fn go_idle(&mut self, cpu: usize) {
        self.records.counters.switches += 1;
        if self.stats.on {
            self.stats_queue(cpu, |counts| &mut counts.sched_goidle);
        }
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.current = NOBODY;
        cpu_state.segment = Segment::EMPTY;
        cpu_state.idle_since = cpu_state.clock;
        self.rq.mark_idle(cpu, self.topology);
        self.records.observer.switched(self.cpus[cpu].clock, cpu, None, None);
        self.smt_changed(cpu);
    }

    /// End a CPU's idleness: update the average idle time and restart the tick.
    pub(crate) fn leave_idle(&mut self, cpu: usize) {
        P::leave_idle(&mut self.rq.queues[cpu]);
        let cpu_state = &mut self.cpus[cpu];
        let idled = cpu_state.clock.saturating_sub(cpu_state.idle_since);
        cpu_state.charged_at = cpu_state.clock;
        self.records.histograms.idle.add(idled);
        // An eighth of the difference (update_avg()), limited to twice the maximum balancing cost (ttwu_do_wakeup()).
        cpu_state.avg_idle =
            (cpu_state.avg_idle as i64 + (idled as i64 - cpu_state.avg_idle as i64) / 8) as Ns;
        cpu_state.avg_idle = cpu_state.avg_idle.min(2 * cpu_state.max_idle_balance_cost);
        cpu_state.wake_avg_idle = cpu_state.avg_idle / 2;
        cpu_state.wake_stamp = cpu_state.clock / self.time.tick_ns;
        if cpu_state.tick_at <= cpu_state.clock {
            cpu_state.tick_at = self.time.next_tick(cpu_state.tick_at, cpu_state.clock);
        }
    }
}
