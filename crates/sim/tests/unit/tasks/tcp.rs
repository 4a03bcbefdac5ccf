use super::{Acknowledgement, Tcp};

const SEGMENT: u64 = 65_483;

/// Read the last sent bytes, and acknowledge if due.
fn read(tcp: &mut Tcp) -> Acknowledgement {
    let after = tcp.after_read(true);
    if after == Acknowledgement::Now {
        tcp.acknowledged();
    }
    after
}

#[test]
fn small_segments_are_acknowledged_after_each_read() {
    let mut tcp = Tcp::default();
    for _ in 0..5 {
        tcp.sent(64, SEGMENT);
        assert!(tcp.waits());
        assert_eq!(read(&mut tcp), Acknowledgement::Now);
        assert!(!tcp.waits());
    }
}

/// The sequence of a stream of 1,024 bytes after a full segment, as tracepoints of Linux 6.18 show it.
#[test]
fn two_equal_segments_look_like_full_segments() {
    let mut tcp = Tcp::default();
    tcp.sent(SEGMENT + 53, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::Now);
    tcp.sent(1024, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::Now, "the first small segment has been pushed");
    tcp.sent(1024, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::Delayed, "the second may be full");
    assert!(tcp.waits(), "the sender holds small messages back");
    tcp.sent(SEGMENT, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::Now, "a full segment is more than the estimate");
    assert!(!tcp.timer_ends(), "nothing is left for the timer");
}

#[test]
fn a_delayed_acknowledgement_has_one_timer() {
    let mut tcp = Tcp::default();
    tcp.sent(2048, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::Now);
    tcp.sent(1024, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::Now);
    tcp.sent(1024, SEGMENT);
    assert_eq!(tcp.after_read(true), Acknowledgement::Delayed);
    assert_eq!(tcp.after_read(true), Acknowledgement::None);
    assert!(tcp.timer_ends());
}

#[test]
fn replies_acknowledge_except_large_segments() {
    let mut tcp = Tcp::default();
    tcp.acknowledged_by_data();
    tcp.sent(536, SEGMENT);
    assert_eq!(read(&mut tcp), Acknowledgement::None);
    assert!(!tcp.acknowledged_alone(), "a small segment waits for the reply");
    tcp.sent(1, SEGMENT);
    assert!(tcp.acknowledged_alone());
    assert!(!tcp.acknowledged_alone(), "once");
    tcp.sent(10_000, SEGMENT);
    tcp.acknowledged_by_data();
    assert!(!tcp.acknowledged_alone(), "the reply acknowledges");
}
