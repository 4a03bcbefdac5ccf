//! Unit tests of `noise/join.rs`. Times are counts; a nanosecond has one count.

use std::collections::HashMap;

use super::{ENTRY, Explained, Gap, Joined, UNEXPLAINED, attribute, join};
use crate::noise::trace::{Event, Kind, Leaves, What};

const SPINNER: i32 = 7;

fn enter(at: u64, kind: Kind, name: &str) -> Event {
    Event { at, what: What::Enter(kind, name.to_owned()) }
}

fn exit(at: u64, kind: Kind) -> Event {
    Event { at, what: What::Exit(kind) }
}

fn switch(at: u64, from: i32, to: i32, name: &str) -> Event {
    leave(at, from, to, name, Leaves::ToGoOn)
}

fn leave(at: u64, from: i32, to: i32, name: &str, leaves: Leaves) -> Event {
    Event { at, what: What::Switch { from, to, name: name.to_owned(), leaves } }
}

fn joined(gaps: &[(u64, u64)], minimum: u64, events: &[Event]) -> Joined {
    let gaps: Vec<Gap> = gaps.iter().map(|(start, end)| Gap { start: *start, end: *end }).collect();
    let joined = join(&gaps, minimum, events, &HashMap::new(), SPINNER, 1.0);
    for gap in &joined.gaps {
        assert_eq!(gap.parts.iter().map(|part| part.own).sum::<u64>(), gap.length, "{gap:?}");
    }
    joined
}

fn parts(gap: &Explained) -> Vec<(&str, u64)> {
    gap.parts.iter().map(|part| (part.name.as_str(), part.own)).collect()
}

/// A tick of 100 to 200 in a gap of 90 to 215, with a timer's function in the soft interrupt after it.
fn tick(from: u64) -> Vec<Event> {
    vec![
        enter(from + 10, Kind::Vector, "timer interrupt"),
        enter(from + 20, Kind::Hrtimer, "hrtimer tick_nohz_handler"),
        exit(from + 50, Kind::Hrtimer),
        exit(from + 70, Kind::Vector),
        enter(from + 75, Kind::Softirq, "softirq TIMER"),
        enter(from + 80, Kind::Timer, "timer delayed_work_timer_fn"),
        exit(from + 100, Kind::Timer),
        exit(from + 110, Kind::Softirq),
    ]
}

#[test]
fn each_instant_belongs_to_the_innermost_interval() {
    let result = joined(&[(90, 210)], 10, &tick(90));
    // Outside all intervals: 10 before the tick, 5 after it, 10 at the end, less the turn of 10.
    let expected = [("tick", 60), ("softirq TIMER", 15), ("timer delayed_work_timer_fn", 20), (ENTRY, 15)];
    assert_eq!(parts(&result.gaps[0]), expected);
    assert_eq!(result.gaps[0].length, 110);
    assert_eq!(result.gaps[0].main(), "tick");
    assert_eq!(result.gaps[0].parts[2].within, Some(1));
}

#[test]
fn a_work_item_is_named_by_its_function_and_the_worker_by_its_task() {
    let wake = Event { at: 30, what: What::Wake(32) };
    let mut events = vec![enter(20, Kind::Softirq, "softirq TIMER"), wake, exit(40, Kind::Softirq)];
    events.extend([
        switch(50, SPINNER, 32, "task kworker"),
        enter(55, Kind::Work, "vmstat_update"),
        enter(60, Kind::Vector, "reschedule interrupt"),
        exit(64, Kind::Vector),
        exit(80, Kind::Work),
        switch(85, 32, SPINNER, "task spinner"),
    ]);
    let result = joined(&[(10, 95)], 0, &events);
    let expected = [
        ("softirq TIMER", 20),
        ("task kworker", 10),
        ("vmstat_update", 21),
        ("reschedule interrupt", 4),
        (ENTRY, 30),
    ];
    assert_eq!(parts(&result.gaps[0]), expected);
    assert_eq!(result.gaps[0].parts[1].woken_in.as_deref(), Some("softirq TIMER"));
}

#[test]
fn a_work_item_that_a_switch_interrupted_goes_on_under_its_name() {
    let events = [
        switch(10, SPINNER, 32, "task kworker"),
        enter(12, Kind::Work, "slow_work"),
        switch(20, 32, SPINNER, "task spinner"),
        switch(110, SPINNER, 32, "task kworker"),
        exit(130, Kind::Work),
        switch(131, 32, SPINNER, "task spinner"),
    ];
    let result = joined(&[(10, 20), (110, 131)], 0, &events);
    assert_eq!(parts(&result.gaps[0]), [("task kworker", 2), ("slow_work", 8)]);
    assert_eq!(parts(&result.gaps[1]), [("task kworker", 1), ("slow_work", 20)]);
    assert_eq!(occurrences(&result), [vec![1, 2], vec![1, 2]]);
}

/// Numbers of the occurrences in each gap, without the time outside all intervals.
fn occurrences(result: &Joined) -> Vec<Vec<u64>> {
    let numbers = |gap: &Explained| {
        gap.parts.iter().filter(|part| part.span.is_some()).map(|part| part.occurrence).collect()
    };
    result.gaps.iter().map(numbers).collect()
}

#[test]
fn a_task_that_waits_uninterruptibly_goes_on_and_a_task_that_sleeps_has_ended() {
    for (leaves, expected) in [(Leaves::ToGoOn, [vec![1], vec![1]]), (Leaves::Done, [vec![1], vec![2]])] {
        let events = [
            switch(10, SPINNER, 32, "task dropper"),
            leave(20, 32, SPINNER, "task spinner", leaves),
            switch(110, SPINNER, 32, "task dropper"),
            leave(130, 32, SPINNER, "task spinner", Leaves::Done),
        ];
        let result = joined(&[(10, 20), (110, 131)], 0, &events);
        assert_eq!(occurrences(&result), expected, "{leaves:?}");
    }
}

#[test]
fn an_occurrence_whose_beginning_is_in_no_gap_counts_in_its_first_gap() {
    let events = [
        switch(10, SPINNER, 32, "task kworker"),
        enter(12, Kind::Work, "slow_work"),
        switch(20, 32, SPINNER, "task spinner"),
        switch(110, SPINNER, 32, "task kworker"),
        switch(115, 32, SPINNER, "task spinner"),
        switch(210, SPINNER, 32, "task kworker"),
        exit(220, Kind::Work),
        leave(221, 32, SPINNER, "task spinner", Leaves::Done),
        switch(300, SPINNER, 32, "task kworker"),
        leave(310, 32, SPINNER, "task spinner", Leaves::Done),
    ];
    // The first switch is between two gaps.
    let result = joined(&[(100, 120), (200, 230), (290, 320)], 0, &events);
    assert_eq!(occurrences(&result), [vec![1, 2], vec![1, 2], vec![3]]);
    let names: Vec<_> = parts(&result.gaps[1]).into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["task kworker", "slow_work", ENTRY]);
}

#[test]
fn a_work_item_that_ended_between_two_gaps_does_not_go_on() {
    let events = [
        switch(10, SPINNER, 32, "task kworker"),
        enter(12, Kind::Work, "slow_work"),
        switch(20, 32, SPINNER, "task spinner"),
        switch(50, SPINNER, 32, "task kworker"),
        exit(51, Kind::Work),
        leave(52, 32, SPINNER, "task spinner", Leaves::Done),
        switch(110, SPINNER, 32, "task kworker"),
        leave(130, 32, SPINNER, "task spinner", Leaves::Done),
    ];
    let result = joined(&[(10, 20), (110, 131)], 0, &events);
    assert_eq!(occurrences(&result), [vec![1, 2], vec![3]]);
}

#[test]
fn the_inclusive_time_of_a_part_contains_the_parts_inside() {
    let events = [
        switch(10, SPINNER, 32, "task planted"),
        enter(20, Kind::Vector, "timer interrupt"),
        enter(25, Kind::Softirq, "softirq RCU"),
        exit(28, Kind::Softirq),
        exit(30, Kind::Vector),
        leave(60, 32, SPINNER, "task spinner", Leaves::Done),
    ];
    let result = joined(&[(5, 70)], 0, &events);
    let gap = &result.gaps[0];
    assert_eq!(parts(gap)[..3], [("task planted", 40), ("timer interrupt", 7), ("softirq RCU", 3)]);
    assert_eq!([0, 1, 2].map(|part| gap.inclusive(part)), [50, 10, 3]);
    assert_eq!([0, 1, 2].map(|part| gap.parts[part].span), [(10, 60), (20, 30), (25, 28)].map(Some));
}

#[test]
fn an_interrupt_carries_the_request_that_it_answers() {
    let events = [enter(20, Kind::Vector, "reschedule interrupt"), exit(25, Kind::Vector)];
    let gaps = [Gap { start: 10, end: 30 }];
    let result = join(&gaps, 0, &events, &HashMap::from([(0, 5)]), SPINNER, 1.0);
    assert_eq!(result.gaps[0].parts[0].request, Some(5));
}

#[test]
fn a_gap_without_events_is_unexplained() {
    let result = joined(&[(100, 600)], 10, &tick(1000));
    assert_eq!(parts(&result.gaps[0]), [(UNEXPLAINED, 490)]);
}

#[test]
fn time_beyond_three_times_the_usual_path_is_unexplained() {
    let mut gaps = Vec::new();
    let mut events = Vec::new();
    for at in [1000, 2000, 3000] {
        gaps.push((at, at + 120));
        events.extend(tick(at));
    }
    // The last gap begins 5,000 counts before its interrupt.
    gaps.push((5000, 10_120));
    events.extend(tick(10_000));
    let result = joined(&gaps, 0, &events);
    assert_eq!(result.usual, 15);
    let last = parts(&result.gaps[3]);
    assert!(last.contains(&(UNEXPLAINED, 5010 - 15)), "{last:?}");
    assert!(last.contains(&(ENTRY, 15 + 5 + 10)), "{last:?}");
    assert_eq!(result.gaps[3].main(), UNEXPLAINED);
}

#[test]
fn an_exit_without_its_entry_and_a_lost_exit_do_not_break_the_sum() {
    let events = [
        exit(20, Kind::Irq),
        enter(30, Kind::Softirq, "softirq RCU"),
        enter(210, Kind::Vector, "irq-work interrupt"),
        exit(220, Kind::Vector),
    ];
    let result = joined(&[(10, 100), (200, 230)], 5, &events);
    assert_eq!(result.gaps[1].parts[0].within, None);
    assert_eq!(result.gaps[1].parts[0].name, "irq-work interrupt");
}

#[test]
fn events_between_gaps_are_ignored() {
    let mut events = tick(10);
    events.extend(tick(300));
    let result = joined(&[(300, 420)], 0, &events);
    assert_eq!(result.gaps[0].parts.len(), 4);
}

#[test]
fn a_non_maskable_interrupt_takes_the_time_that_its_event_states() {
    let what = What::Ended(Kind::Nmi, "nmi handler".to_owned(), 12);
    let mut events = tick(90);
    events.insert(2, Event { at: 130, what });
    let result = joined(&[(90, 210)], 0, &events);
    assert!(parts(&result.gaps[0]).contains(&("nmi handler", 12)));
    assert!(parts(&result.gaps[0]).contains(&("tick", 48)));
}

#[test]
fn the_tick_stop_is_counted_by_its_reason() {
    let stop = |at| Event { at, what: What::TickStop("SCHED".to_owned()) };
    let result = joined(&[(10, 20)], 0, &[stop(5), stop(15), stop(25)]);
    assert_eq!(result.tick_stops["SCHED"], 3);
    assert_eq!(parts(&result.gaps[0]), [(UNEXPLAINED, 10)]);
}

#[test]
fn the_longest_unexplained_times_within_the_budget_get_the_other_cause() {
    let mut gaps = joined(&[(0, 100), (200, 260), (300, 330), (400, 410)], 0, &[]).gaps;
    attribute(&mut gaps, "hypervisor", 95, usize::MAX, |gap| gap.start != 400);
    let names: Vec<&str> = gaps.iter().map(Explained::main).collect();
    assert_eq!(names, [UNEXPLAINED, "hypervisor", "hypervisor", UNEXPLAINED]);
    attribute(&mut gaps, "hardware", u64::MAX, 1, |_| true);
    let names: Vec<&str> = gaps.iter().map(Explained::main).collect();
    assert_eq!(names, ["hardware", "hypervisor", "hypervisor", UNEXPLAINED]);
}
