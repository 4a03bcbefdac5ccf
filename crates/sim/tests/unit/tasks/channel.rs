use proptest::prelude::*;
use schedlab_workload::program::ChannelKind;

use super::Flow;

#[test]
fn a_pipe_is_full_at_sixteen_pages_and_keeps_small_writes_whole() {
    let mut pipe = Flow::new(ChannelKind::Pipe, 0);
    assert_eq!(pipe.room(100_000), 65_536);
    pipe.push(65_500, 0);
    assert_eq!((pipe.room(36), pipe.room(37), pipe.room(5000)), (36, 0, 36));
    pipe.take(4000);
    assert!(!pipe.wakes_writer());
    pipe.take(96);
    assert!(pipe.wakes_writer());
}

#[test]
fn a_unix_socket_counts_the_kernels_structures() {
    let mut socket = Flow::new(ChannelKind::Unix, 0);
    // Messages of 100 bytes occupy 768 each: 212992 / 768 = 277.3, so the 278th message fills the buffer.
    let sent = (0..).take_while(|_| socket.room(100) == 100 && socket.push(100, 0)).count();
    assert_eq!(sent, 278);
    // A writer is woken when three quarters are free: 208 messages read leave 70 × 768 = 53760 > 53248 in use.
    for _ in 0..208 {
        assert_eq!(socket.take(100), 100);
    }
    assert!(!socket.wakes_writer());
    socket.take(100);
    assert!(socket.wakes_writer());
}

#[test]
fn a_full_udp_buffer_loses_datagrams() {
    let mut socket = Flow::new(ChannelKind::Udp, 0);
    let accepted = (0..300).filter(|_| socket.push(1, 0)).count();
    assert_eq!(accepted, 277);
    assert_eq!(socket.take(10), 1);
    assert!(socket.push(1, 0));
}

#[test]
fn tcp_holds_small_messages_back_until_the_previous_segment_is_acknowledged() {
    let mut flow = Flow::new(ChannelKind::Tcp, 536);
    assert!(!flow.holds(64), "nothing is in flight");
    flow.push(64, 0);
    let mut held = 0;
    while flow.holds(64) {
        flow.hold(64, 0);
        held += 1;
    }
    assert_eq!((held, flow.bytes), (8, 64), "eight messages of 64 bytes are not more than 536 bytes");
    flow.push(64, 1);
    assert_eq!(flow.bytes, 10 * 64, "the ninth message takes the held messages along");
    assert_eq!(flow.take(1000), 640);
    assert!(flow.holds(300), "read, but not acknowledged");
    flow.tcp.acknowledged();
    assert!(!flow.holds(300));
    flow.push(64, 0);
    flow.hold(300, 0);
    assert_eq!(flow.take(1000), 64);
    assert!(flow.release());
    assert_eq!((flow.take(1000), flow.used, flow.release()), (300, 0, false));
}

/// Where the receiver answers, what it has read counts as acknowledged.
#[test]
fn tcp_holds_small_requests_back_while_the_previous_request_is_unread() {
    let mut flow = Flow::new(ChannelKind::Tcp, 536);
    flow.tcp.acknowledged_by_data();
    flow.push(64, 0);
    assert!(flow.holds(64));
    flow.take(64);
    assert!(!flow.holds(64));
}

#[test]
fn no_delay_sends_each_message_at_once() {
    let mut flow = Flow::new(ChannelKind::Tcp, 0);
    flow.push(64, 0);
    assert!(!flow.holds(64));
}

proptest! {
    #[test]
    fn all_sent_bytes_are_received(writes in prop::collection::vec((1u64..9000, 0usize..4, 1u64..9000), 1..60)) {
        for kind in [ChannelKind::Pipe, ChannelKind::Unix, ChannelKind::Tcp] {
            let mut flow = Flow::new(kind, 0);
            let (mut sent, mut received) = (0, 0);
            for (bytes, cpu, read) in &writes {
                let part = flow.room(*bytes);
                if part > 0 {
                    prop_assert!(flow.push(part, *cpu));
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
