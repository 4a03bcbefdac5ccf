//! Decoded timelines agree with the simulation's counters and ledger.

use std::collections::BTreeMap;
use std::io::{self, Write};

use prost::Message;
use schedlab_sim::{Account, Change, Config, Outcome, Simulation, kernel, machine};
use schedlab_timeline::Timeline;
use schedlab_timeline::schema::{
    BEGIN, Data, Event, EventKind, HARD_INTERRUPT, INSTANT, PREEMPTED, SchedSwitch, Trace,
};
use schedlab_workload::library::{forkstorm::Forkstorm, hackbench::Hackbench, wakeup::Wakeup};
use schedlab_workload::{Plan, Program};

const MS: u64 = 1_000_000;

fn observed(machine_name: &str, kernel_name: &str, program: Program, config: Config) -> (Trace, Outcome) {
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    let mut timeline = Timeline::new(Vec::new(), &machine, &kernel);
    let simulation = Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap();
    let outcome = simulation.run_observed(&mut timeline).unwrap();
    assert_eq!(outcome.digest(), simulation.run().unwrap().digest(), "watching changes nothing");
    let bytes = timeline.finish(outcome.ledger.closed_ns()).unwrap();
    (Trace::decode(bytes.as_slice()).unwrap(), outcome)
}

fn messages(groups: u32, loops: u64) -> Program {
    Hackbench { groups, fds: 4, loops, ..Default::default() }.program().unwrap()
}

/// Return kernel events by CPU, sorted by time as in a viewer.
fn events(trace: &Trace) -> BTreeMap<u32, Vec<&Event>> {
    let mut by_cpu: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    for packet in &trace.packet {
        if let Some(Data::FtraceEvents(bundle)) = &packet.data {
            by_cpu.entry(bundle.cpu()).or_default().extend(&bundle.event);
        }
    }
    by_cpu.values_mut().for_each(|events| events.sort_by_key(|event| event.timestamp()));
    by_cpu
}

fn switches<'e>(events: &[&'e Event]) -> Vec<(u64, &'e SchedSwitch)> {
    let switch = |event: &&'e Event| match &event.kind {
        Some(EventKind::SchedSwitch(switch)) => Some((event.timestamp(), switch)),
        _ => None,
    };
    events.iter().filter_map(switch).collect()
}

/// Return the slices (from, until) of tasks on a CPU. Each switch must continue the previous switch.
fn slices(switches: &[(u64, &SchedSwitch)], closed: u64) -> Vec<(u64, u64)> {
    let (mut since, mut running, mut slices) = (0, 0, Vec::new());
    for (at, switch) in switches {
        assert!(*at >= since, "switches of a CPU ascend");
        assert_eq!(switch.prev_pid(), running, "the task that leaves is the task that came");
        if running != 0 {
            slices.push((since.min(closed), (*at).min(closed)));
        }
        (since, running) = (*at, switch.next_pid());
    }
    if running != 0 {
        slices.push((since.min(closed), closed));
    }
    slices
}

/// Return the slices of kernel work by CPU: (from, until, account's number).
fn work(trace: &Trace) -> BTreeMap<u32, Vec<(u64, u64, u64)>> {
    let mut by_cpu: BTreeMap<u32, Vec<(u64, u64, u64)>> = BTreeMap::new();
    let mut open: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for packet in &trace.packet {
        let Some(Data::TrackEvent(event)) = &packet.data else { continue };
        let (sequence, at) = (packet.trusted_packet_sequence_id(), packet.timestamp());
        if event.r#type() == INSTANT {
            continue;
        }
        if event.r#type() == BEGIN {
            assert!(open.insert(sequence, (at, event.name_iid())).is_none(), "slices do not nest");
        } else {
            let (from, name) = open.remove(&sequence).expect("a slice that ends has begun");
            let slices = by_cpu.entry(sequence - 2).or_default();
            assert!(at > from && slices.last().is_none_or(|last| last.1 <= from), "slices do not overlap");
            slices.push((from, at, name));
        }
    }
    assert!(open.is_empty(), "a slice that has begun ends");
    by_cpu
}

fn check(trace: &Trace, outcome: &Outcome) {
    let closed = outcome.ledger.closed_ns();
    let (events, work) = (events(trace), work(trace));
    let none = Vec::new();
    for cpu in 0..outcome.ledger.cpus() {
        let tasks = slices(&switches(events.get(&(cpu as u32)).unwrap_or(&Vec::new())), closed);
        let in_tasks: u64 = tasks.iter().map(|(from, until)| until - from).sum();
        let lies_within = |at: u64| {
            let next = tasks.partition_point(|(_, until)| *until <= at);
            tasks.get(next).is_some_and(|(from, _)| *from <= at)
        };
        let kernel = work.get(&(cpu as u32)).unwrap_or(&none);
        let beside: u64 =
            kernel.iter().filter(|(from, ..)| !lies_within(*from)).map(|(from, until, _)| until - from).sum();
        let busy = closed - outcome.ledger.of(cpu, Account::Idle);
        assert_eq!(in_tasks + beside, busy, "CPU {cpu}: slices sum to the ledger's busy time");
    }
    let count = |is: fn(&EventKind) -> bool| {
        events.values().flatten().filter(|event| event.kind.as_ref().is_some_and(is)).count() as u64
    };
    let counters = &outcome.counters;
    assert_eq!(count(|kind| matches!(kind, EventKind::SchedSwitch(_))), counters.switches);
    assert_eq!(count(|kind| matches!(kind, EventKind::SchedWaking(_))), counters.wakeups.iter().sum::<u64>());
    assert_eq!(count(|kind| matches!(kind, EventKind::SchedWakeupNew(_))), counters.forks);
    // The main task and kernel threads exist without a fork.
    let of_kernel =
        |kind: &EventKind| matches!(kind, EventKind::TaskNewtask(new) if new.comm().starts_with("kworker"));
    assert_eq!(
        count(|kind| matches!(kind, EventKind::TaskNewtask(_))) - count(of_kernel),
        counters.forks + 1
    );
    assert_eq!(count(|kind| matches!(kind, EventKind::SchedProcessFree(_))), counters.exits);
    let preempted =
        |kind: &EventKind| matches!(kind, EventKind::SchedSwitch(switch) if switch.prev_state() == PREEMPTED);
    assert_eq!(count(preempted), counters.preemptions);
}

#[test]
fn slices_and_wakeups_agree_with_the_ledger_and_the_counters_to_the_nanosecond() {
    let mut preemptions = 0;
    for kernel_name in schedlab_sim::kernel_names() {
        for machine_name in ["laptop-4", "xeon-e5-2670v3"] {
            let (trace, outcome) = observed(machine_name, kernel_name, messages(2, 20), Config::default());
            check(&trace, &outcome);
            assert!(outcome.counters.switches > outcome.counters.forks);
            preemptions += outcome.counters.preemptions;
        }
    }
    assert!(preemptions > 0);
}

#[test]
fn children_and_timers_agree_with_the_counters() {
    let program = Forkstorm { exec: true, ..Default::default() }.program().unwrap();
    let horizon = Config { horizon_ns: Some(20 * MS), ..Config::default() };
    let (trace, outcome) = observed("laptop-4", "linux-6.12", program, horizon);
    check(&trace, &outcome);
    let events = events(&trace);
    let mut pids = std::collections::BTreeSet::new();
    for event in events.values().flatten() {
        if let Some(EventKind::TaskNewtask(new)) = &event.kind {
            assert!(pids.insert(new.pid()), "numbers of tasks are not reused");
        }
    }
    assert!(pids.len() > 100, "{} tasks", pids.len());

    let horizon = Config { horizon_ns: Some(50 * MS), ..Config::default() };
    let program = Wakeup::default().program().unwrap();
    let (trace, outcome) = observed("laptop-4", "linux-5.14", program, horizon);
    check(&trace, &outcome);
}

#[test]
fn a_horizon_ends_the_timeline_where_it_ends_the_ledger() {
    for horizon in [1, 777_777, 3 * MS + 1] {
        let config = Config { horizon_ns: Some(horizon), ..Config::default() };
        let (trace, outcome) = observed("laptop-4", "linux-6.12", messages(1, 1000), config);
        assert_eq!(outcome.ledger.closed_ns(), horizon);
        check(&trace, &outcome);
    }
}

#[test]
fn interrupts_wake_sleepers_and_senders_wake_receivers() {
    let wakings = |program, horizon_ns| {
        let config = Config { horizon_ns, ..Config::default() };
        let (trace, _) = observed("laptop-4", "linux-6.12", program, config);
        let is = |event: &&Event| matches!(event.kind, Some(EventKind::SchedWaking(_)));
        let wakings: Vec<Event> = events(&trace).values().flatten().copied().filter(is).cloned().collect();
        let interrupts = wakings.iter().filter(|event| event.common_flags() & HARD_INTERRUPT != 0).count();
        (interrupts, wakings.len())
    };
    assert_eq!(wakings(messages(1, 20), None).0, 0);
    let sleepers = schedlab_workload::rtapp::read(
        "sleepers",
        r#"{"tasks": {"one": {"loop": 50, "run": 100, "sleep": 1000}}}"#,
        None,
    );
    let (interrupts, all) = wakings(sleepers.unwrap().program, None);
    assert!(interrupts >= 50 && interrupts >= all - 3, "{interrupts} of {all}");
}

#[test]
fn a_change_of_a_tunable_is_an_instant_with_its_value() {
    let change = |at_ns, value| Change { at_ns, tunable: "sched.migration_cost_ns".to_owned(), value };
    let config = Config { changes: vec![change(MS, 0), change(2 * MS, 5)], ..Config::default() };
    let (trace, outcome) = observed("laptop-4", "linux-5.14", messages(1, 200), config);
    let instants: Vec<_> = trace
        .packet
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(Data::TrackEvent(event)) if event.r#type() == INSTANT => Some((
                packet.timestamp(),
                event.name(),
                event.debug_annotations.first().map(|it| it.int_value()),
            )),
            _ => None,
        })
        .collect();
    let name = "sched.migration_cost_ns";
    let end = (outcome.ledger.closed_ns(), "end", None);
    assert_eq!(instants, [(MS, name, Some(0)), (2 * MS, name, Some(5)), end]);
}

/// Writer with space for a number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failed_write_is_reported_by_finish() {
    let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-6.12").unwrap());
    for room in [0, 2_000] {
        let mut timeline = Timeline::new(Full(room), &machine, &kernel);
        let plan = Plan::new(messages(1, 50)).unwrap();
        let simulation = Simulation::new(machine.clone(), kernel.clone(), plan, Config::default()).unwrap();
        let outcome = simulation.run_observed(&mut timeline).unwrap();
        let error = timeline.finish(outcome.ledger.closed_ns()).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
