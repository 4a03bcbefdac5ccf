//! Unit tests of `noise/trace.rs`.

use super::{Current, Event, Kind, Leaves, Line, Switches, Time, What, is_loss};

fn parse(line: &str) -> Option<(Time, What)> {
    let line = Line::of(line)?;
    Some((line.time, line.meaning()?))
}

fn what(event: &str) -> What {
    let line = format!("          python-20441   [001] d.h.. 3961998393230: {event}");
    let (time, what) = parse(&line).unwrap_or_else(|| panic!("{line}"));
    assert_eq!(time, Time::Counts(3_961_998_393_230));
    what
}

#[test]
fn the_lines_of_each_event_have_their_meaning() {
    use Kind::{Call, Hrtimer, Ipi, Irq, Nmi, Softirq, Timer, Vector, Work};
    let enter = |kind, name: &str| What::Enter(kind, name.to_owned());
    let lines = [
        ("local_timer_entry: vector=236", enter(Vector, "timer interrupt")),
        ("local_timer_exit: vector=236", What::Exit(Vector)),
        ("call_function_single_entry: vector=251", enter(Vector, "call-function interrupt")),
        ("reschedule_entry: vector=253", enter(Vector, "reschedule interrupt")),
        ("irq_handler_entry: irq=36 name=virtio1-req.0", enter(Irq, "irq virtio1-req.0")),
        ("irq_handler_exit: irq=36 ret=handled", What::Exit(Irq)),
        ("softirq_entry: vec=9 [action=RCU]", enter(Softirq, "softirq RCU")),
        (
            "hrtimer_expire_entry: hrtimer=00000000ac222e2f function=tick_nohz_handler now=1722516015846",
            enter(Hrtimer, "hrtimer tick_nohz_handler"),
        ),
        ("hrtimer_expire_exit: hrtimer=00000000ac222e2f", What::Exit(Hrtimer)),
        (
            "timer_expire_entry: timer=000000004a1b2c3d function=delayed_work_timer_fn now=4295322 baseclk=4295322",
            enter(Timer, "timer delayed_work_timer_fn"),
        ),
        (
            "workqueue_execute_start: work struct 000000000d8f1c2b: function vmstat_update",
            enter(Work, "vmstat_update"),
        ),
        ("workqueue_execute_end: work struct 000000000d8f1c2b: function vmstat_update", What::Exit(Work)),
        ("csd_function_entry: func=ipi_mb, csd=00000000aa", enter(Call, "call ipi_mb")),
        ("ipi_entry: (Rescheduling interrupts)", enter(Ipi, "ipi Rescheduling interrupts")),
        (
            "nmi_handler: perf_event_nmi_handler() delta_ns: 2875 handled: 1",
            What::Ended(Nmi, "nmi perf_event_nmi_handler".to_owned(), 2875),
        ),
        ("tick_stop: success=1 dependency=NONE", What::TickStop("stopped".to_owned())),
        ("tick_stop: success=0 dependency=SCHED", What::TickStop("SCHED".to_owned())),
        ("sched_wakeup: comm=a pid=b pid=20438 prio=122 target_cpu=001", What::Wake(20_438)),
    ];
    for (line, meaning) in lines {
        assert_eq!(what(line), meaning, "{line}");
    }
}

#[test]
fn a_task_that_is_woken_for_another_cpu_has_no_meaning_here() {
    let line =
        "  python-20441   [001] d.h.. 3961998393230: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000";
    assert_eq!(parse(line), None);
}

#[test]
fn switches_name_the_next_task_without_the_number_of_its_cpu() {
    let switch = |comm: &str| {
        let line = format!(
            "sched_switch: prev_comm=odd ==> name prev_pid=9 prev_prio=120 prev_state=R+ ==> next_comm={comm} next_pid=32 next_prio=120"
        );
        match what(&line) {
            What::Switch { from: 9, to: 32, name, leaves: Leaves::ToGoOn } => name,
            other => panic!("{other:?}"),
        }
    };
    let names = [
        ("kworker/1:2-events", "task kworker"),
        ("kworker/u8:1", "task kworker"),
        ("ksoftirqd/1", "task ksoftirqd"),
        ("swapper/1", "idle"),
        ("a/b", "task a/b"),
        ("irq/36-eth0", "task irq/36-eth0"),
        ("my program", "task my program"),
    ];
    for (comm, name) in names {
        assert_eq!(switch(comm), name);
    }
}

#[test]
fn a_task_goes_on_after_a_preemption_and_after_an_uninterruptible_wait() {
    for (state, expected) in [
        ("R", Leaves::ToGoOn),
        ("R+", Leaves::ToGoOn),
        ("D", Leaves::ToGoOn),
        ("D|K", Leaves::ToGoOn),
        ("S", Leaves::Done),
        ("I", Leaves::Done),
        ("Z", Leaves::Done),
    ] {
        let line = format!(
            "sched_switch: prev_comm=a prev_pid=9 prev_prio=120 prev_state={state} ==> next_comm=b next_pid=32 next_prio=120"
        );
        assert!(matches!(what(&line), What::Switch { leaves, .. } if leaves == expected), "{state}");
    }
}

#[test]
fn times_of_other_clocks_are_seconds() {
    let line = "  <...>-9  [012] d.h..  1722.516015: local_timer_exit: vector=236";
    assert_eq!(parse(line), Some((Time::Ns(1_722_516_015_000), What::Exit(Kind::Vector))));
}

#[test]
fn a_line_names_the_task_that_runs_and_whether_the_cpu_is_to_switch() {
    let current = |line| Line::of(line).and_then(|line| line.current());
    let named = |pid, name, is_to_switch| Some(Current { pid, name, is_to_switch });
    assert_eq!(current("  <idle>-0  [001] dNh1. 12: local_timer_exit: vector=236"), named(0, "<idle>", true));
    assert_eq!(current(" a-b-77 [001] d.h1. 12: local_timer_exit: vector=236"), named(77, "a-b", false));
}

#[test]
fn lines_of_losses_and_other_lines_are_not_events() {
    assert!(is_loss("CPU:1 [LOST 123 EVENTS]") && !is_loss(" a-1 [001] d.h.. 12: unknown_event: x"));
    for line in [
        "CPU:1 [LOST 123 EVENTS]",
        "",
        "# tracer: nop",
        "text",
        " a-1 [001] d.h.. 12: unknown_event: x",
        " a-1 [001] d.h.. 12.5: local_timer_exit: vector=2",
        " a-1 [001] d.h.. 12: sched_switch: next_pid=",
    ] {
        assert_eq!(parse(line), None, "{line}");
    }
    let brackets = " odd [1] x-9 [001] d.h.. 12: local_timer_exit: vector=236";
    assert_eq!(parse(brackets), Some((Time::Counts(12), What::Exit(Kind::Vector))));
}

fn current(pid: i32, name: &str, is_to_switch: bool) -> Current<'_> {
    Current { pid, name, is_to_switch }
}

fn switch(from: i32, to: i32, name: &str) -> What {
    What::Switch { from, to, name: name.to_owned(), leaves: Leaves::Done }
}

#[test]
fn the_next_event_shows_a_switch_that_is_missing() {
    let mut switches = Switches::default();
    let idle = "<idle>";
    assert_eq!(switches.follow(10, &current(7, "cat", false), &switch(7, 0, "idle")), None);
    assert_eq!(switches.follow(20, &current(0, idle, true), &What::Exit(Kind::Vector)), None);
    let missing = Event { at: 20, what: switch(0, 8, "task dropper") };
    assert_eq!(switches.follow(90, &current(8, "dropper", false), &What::Wake(9)), Some(missing));
    assert_eq!(switches.follow(95, &current(8, "dropper", false), &switch(8, 0, "idle")), None);
    // Without an interrupt that lets the CPU switch, the time of the switch is not known.
    let missing = Event { at: 99, what: switch(0, 8, "task dropper") };
    assert_eq!(switches.follow(99, &current(8, "dropper", false), &What::Wake(9)), Some(missing));
    let missing = Event { at: 120, what: switch(8, 0, "idle") };
    assert_eq!(switches.follow(120, &current(0, idle, false), &What::Wake(9)), Some(missing));
}

#[test]
fn after_a_loss_no_switch_is_made_up() {
    let mut switches = Switches::default();
    assert_eq!(switches.follow(10, &current(7, "cat", false), &What::Wake(9)), None);
    switches.forget();
    assert_eq!(switches.follow(20, &current(8, "dropper", false), &What::Wake(9)), None);
}
