//! Unit tests of `noise/requests.rs`.

use super::{Reader, Request, Sender, Wanted, answers};
use crate::noise::trace::{Event, Kind, Time, What};

const STORM: &str = "\
           rustc-22859   [000] dNs4. 100: ipi_send_cpu: cpu=1 callsite=update_curr+0x80/0x140 callback=0x0
           rustc-22859   [000] dNs4. 101: <stack trace>
 => trace_event_raw_event_ipi_send_cpu
 => __traceiter_ipi_send_cpu
 => __resched_curr
 => update_curr
 => enqueue_task_fair
 => try_to_wake_up
 => rcu_core
 => handle_softirqs
     my task-7-31     [002] ...1. 140: ipi_send_cpumask: cpumask=00000000,0000000a callsite=on_each_cpu_cond_mask+0x20/0x60 callback=generic_smp_call_function_single_interrupt+0x0/0x10
          <idle>-0     [003] ...1. 150: ipi_send_cpu: cpu=1 callsite=rcu_core+0x9/0x10 callback=0x0
          <idle>-0     [003] ...1. 160: ipi_send_cpu: cpu=5 callsite=rcu_core+0x9/0x10 callback=0x0
           rustc-22859   [000] dNs4. 170: ipi_send_cpu: cpu=1 callsite=update_curr+0x80/0x140 callback=0x0
";

fn read(text: &str, pieces: usize) -> (Vec<Request>, Vec<Sender>) {
    let mut reader = Reader::new(&[1, 3]);
    text.as_bytes().chunks(text.len().div_ceil(pieces)).for_each(|piece| reader.feed(piece));
    reader.finish()
}

#[test]
fn requests_have_targets_kind_and_the_function_that_wanted_them() {
    let (mut requests, senders) = read(STORM, 1);
    requests.sort_by_key(|request| match request.time {
        Time::Counts(count) => count,
        Time::Ns(_) => panic!("{request:?}"),
    });
    let shown: Vec<_> = requests
        .iter()
        .map(|request| {
            let sender = &senders[request.sender];
            (request.wanted, request.targets.as_slice(), sender.task.as_str(), sender.cpu, sender.function())
        })
        .collect();
    let expected: [(Wanted, &[usize], &str, usize, &str); 4] = [
        (Wanted::Reschedule, &[1], "task rustc", 0, "rcu_core"),
        (Wanted::Call, &[1, 3], "task my task-7", 2, "on_each_cpu_cond_mask"),
        (Wanted::Reschedule, &[1], "idle", 3, "rcu_core"),
        (Wanted::Reschedule, &[1], "task rustc", 0, "update_curr"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(senders[requests[0].sender].callsite, "update_curr+0x80/0x140");
    assert_eq!(senders[requests[0].sender].stack.len(), 8);
}

#[test]
fn a_text_in_pieces_is_read_like_the_whole_text() {
    let whole = read(STORM, 1);
    for pieces in [2, 3, 7, 50, STORM.len()] {
        assert_eq!(read(STORM, pieces), whole, "{pieces}");
    }
}

fn enter(at: u64, name: &str) -> Event {
    Event { at, what: What::Enter(Kind::Vector, name.to_owned()) }
}

#[test]
fn an_interrupt_answers_the_first_request_of_its_kind_since_the_last_one() {
    let events = [
        enter(10, "reschedule interrupt"),
        enter(100, "reschedule interrupt"),
        enter(105, "call-function interrupt"),
        enter(110, "timer interrupt"),
        enter(200, "reschedule interrupt"),
    ];
    let sent = [
        (50, Wanted::Reschedule, 0),
        (60, Wanted::Reschedule, 1),
        (70, Wanted::Call, 2),
        (300, Wanted::Reschedule, 3),
    ];
    let mut found: Vec<(usize, usize)> = answers(&events, &sent, 0).into_iter().collect();
    found.sort_unstable();
    assert_eq!(found, [(1, 0), (2, 2)]);
    assert_eq!(answers(&events, &sent, 100).get(&4), Some(&3), "a coarse clock may show a request late");
}
