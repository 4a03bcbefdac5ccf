use proptest::prelude::*;
use schedlab_workload::program::ChannelKind;

use super::{Flow, Freed, QueueUser};
use crate::kernel::PipeWakeups;
use crate::tasks::tcp::Acknowledgement;

#[test]
fn a_pipe_is_full_at_sixteen_pages_and_keeps_small_writes_whole() {
    let mut pipe = Flow::new(ChannelKind::Pipe, false, None);
    assert_eq!(pipe.room(100_000, false), 65_536);
    pipe.push(65_500, false, 0, false);
    assert_eq!((pipe.room(36, false), pipe.room(37, false), pipe.room(36 + 4096, false)), (36, 0, 36));
    pipe.take(4000);
    assert!(!pipe.wakes_writer(PipeWakeups::OneIfFreed));
    pipe.take(96);
    assert!(pipe.wakes_writer(PipeWakeups::OneIfFreed));
}

#[test]
fn a_write_uses_the_memory_that_reads_have_freed() {
    let mut pipe = Flow::new(ChannelKind::Pipe, false, None);
    assert_eq!(pipe.freed.reuse(100), Freed::default());
    pipe.note_freed(100, 3, 1);
    pipe.note_freed(50, 2, 1);
    assert_eq!(pipe.freed.reuse(120), Freed { cpu: 2, bytes: 120 });
    assert_eq!(pipe.freed.reuse(120), Freed { cpu: 2, bytes: 30 });
    assert_eq!(pipe.freed.reuse(120).bytes, 0);
    // A pipe keeps one page or two; a socket's messages use the memory of all before.
    pipe.note_freed(1 << 30, 2, 2);
    assert_eq!(pipe.freed.reuse(1 << 30).bytes, 8192);
    let mut socket = Flow::new(ChannelKind::Unix, false, None);
    socket.note_freed(1 << 30, 2, 2);
    assert_eq!(socket.freed.reuse(1 << 30).bytes, 212_992);
}

#[test]
fn the_queue_belongs_to_the_cpu_that_used_it_last() {
    let mut pipe = Flow::new(ChannelKind::Pipe, false, None);
    assert_eq!(pipe.note_writer(3), None);
    assert_eq!(pipe.note_writer(1), Some(QueueUser::Writer(3)));
    pipe.note_freed(100, 2, 1);
    assert_eq!(pipe.last_user(), Some(QueueUser::Reader(2)));
    assert_eq!(pipe.note_writer(2), Some(QueueUser::Reader(2)));
}

#[test]
fn a_front_says_what_its_core_had_written() {
    let mut socket = Flow::new(ChannelKind::Unix, false, None);
    assert!(socket.front(100).is_none());
    for (cpu, written) in [(1, 700), (1, 900), (2, 50)] {
        socket.push(100, false, cpu, false);
        socket.note_written(written);
    }
    // Nothing was written since.
    socket.note_written(1000);
    for expected in [(1, 700), (1, 900), (2, 50)] {
        let (writer, message) = socket.front(60).unwrap();
        assert_eq!((writer, message.written), expected);
        assert_eq!((message.behind, message.memory), (40, 768));
        socket.take(100);
    }
    let mut pipe = Flow::new(ChannelKind::Pipe, false, None);
    for written in [700, 900] {
        pipe.push(100, false, 1, false);
        pipe.note_written(written);
    }
    assert_eq!(pipe.front(50).map(|(_, message)| (message.behind, message.written)), Some((150, 900)));
}

#[test]
fn a_unix_socket_counts_the_kernels_structures() {
    let mut socket = Flow::new(ChannelKind::Unix, false, None);
    // Messages of 100 bytes occupy 768 each: 212992 / 768 = 277.3, so the 278th message fills the buffer.
    let sent =
        (0..).take_while(|_| socket.room(100, false) == 100 && socket.push(100, false, 0, false)).count();
    assert_eq!(sent, 278);
    // A writer is woken when three quarters are free: 208 messages read leave 70 × 768 = 53760 > 53248 in use.
    for _ in 0..208 {
        assert_eq!(socket.take(100), 100);
    }
    assert!(!socket.wakes_writer(PipeWakeups::All));
    socket.take(100);
    assert!(socket.wakes_writer(PipeWakeups::All));
}

#[test]
fn a_full_udp_buffer_loses_datagrams() {
    let mut socket = Flow::new(ChannelKind::Udp, false, None);
    let accepted = (0..300).filter(|_| socket.push(1, false, 0, false)).count();
    assert_eq!(accepted, 277);
    assert_eq!(socket.take(10), 1);
    assert!(socket.push(1, false, 0, false));
}

#[test]
fn tcp_holds_small_messages_back_until_the_previous_segment_is_acknowledged() {
    let mut flow = Flow::new(ChannelKind::Tcp, false, None);
    assert!(!flow.holds(64), "nothing is in flight");
    flow.push(64, false, 0, false);
    let mut held = 0;
    while flow.holds(64) {
        flow.hold(64, 0);
        held += 1;
    }
    assert_eq!((held, flow.bytes), (1023, 64), "1023 messages of 64 bytes are less than a segment");
    flow.push(64, false, 1, false);
    assert_eq!(flow.bytes, 1025 * 64, "the next message takes the held messages along");
    assert_eq!(flow.take(100_000), 65_600);
    assert!(flow.holds(300), "read, but not acknowledged");
    flow.tcp.acknowledged();
    assert!(!flow.holds(300));
    flow.push(64, false, 0, false);
    flow.hold(300, 0);
    assert_eq!(flow.take(1000), 64);
    assert_eq!(flow.release(), 1);
    assert_eq!((flow.take(1000), flow.used, flow.release()), (300, 0, 0));
}

/// Where the receiver answers, what it has read counts as acknowledged.
#[test]
fn tcp_holds_small_requests_back_while_the_previous_request_is_unread() {
    let mut flow = Flow::new(ChannelKind::Tcp, false, None);
    flow.tcp.acknowledged_by_data();
    flow.push(64, false, 0, false);
    assert!(flow.holds(64));
    flow.take(64);
    assert!(!flow.holds(64));
}

#[test]
fn no_delay_sends_each_message_at_once() {
    let mut flow = Flow::new(ChannelKind::Tcp, true, None);
    flow.push(64, false, 0, false);
    assert!(!flow.holds(64));
}

/// netperf's TCP_STREAM of 64 bytes with buffers of 320 bytes: the window has two segments of nine messages.
#[test]
fn set_buffers_limit_the_segment_the_window_and_the_senders_memory() {
    let mut flow = Flow::new(ChannelKind::Tcp, false, Some(320));
    assert_eq!(flow.segments(64), 1, "nothing is in flight");
    flow.push(64, false, 0, false);
    for _ in 0..8 {
        assert_eq!(flow.segments(64), 0, "a small segment is unacknowledged");
        flow.hold(64, 0);
    }
    assert_eq!(
        (flow.bytes, flow.segments(64)),
        (64, 1),
        "the ninth message completes a segment of 576 bytes"
    );
    flow.push(64, false, 0, false);
    assert_eq!(flow.bytes, 640);
    let mut held = 0;
    while flow.segments(64) == 0 && flow.room(64, false) == 64 {
        flow.hold(64, 0);
        held += 1;
    }
    assert_eq!(
        held, 9,
        "512 bytes of the window are left, and the sender's memory is full after another segment"
    );
    assert_eq!(flow.room(64, false), 0);
    assert!(!flow.wakes_writer(PipeWakeups::All));
    while flow.bytes > 0 {
        flow.take(64);
    }
    assert_eq!(flow.after_read(), Acknowledgement::Now);
    flow.acknowledged();
    assert!(flow.wakes_writer(PipeWakeups::All));
    assert_eq!((flow.release(), flow.bytes), (1, 576));
}

#[test]
fn closing_sends_all_bytes_that_the_window_did_not_allow() {
    let mut flow = Flow::new(ChannelKind::Tcp, false, Some(320));
    let mut sent = 0;
    while flow.room(500, false) > 0 {
        let part = flow.room(500, false);
        flow.push(part, part < 500, 0, false);
        sent += part;
    }
    flow.close();
    assert_eq!(flow.take(u64::MAX), sent);
    assert!(!flow.ready());
}

proptest! {
    #[test]
    fn all_sent_bytes_are_received(writes in prop::collection::vec((1u64..9000, 0usize..4, 1u64..9000), 1..60)) {
        for kind in [ChannelKind::Pipe, ChannelKind::Unix, ChannelKind::Tcp] {
            let mut flow = Flow::new(kind, false, None);
            let (mut sent, mut received) = (0, 0);
            for (bytes, cpu, read) in &writes {
                let part = flow.room(*bytes, false);
                if part > 0 {
                    prop_assert!(flow.push(part, false, *cpu, false));
                    sent += part;
                }
                received += flow.take(*read);
            }
            received += flow.take(u64::MAX);
            prop_assert_eq!(sent, received);
            prop_assert_eq!((flow.bytes, flow.used, flow.ready()), (0, 0, false));
        }
    }
}
