use schedlab_workload::program::ChannelKind;

use super::{ByDistance, Costs};
use crate::machine::Distance;

fn costs() -> Costs {
    crate::machine("laptop-4").expect("a shipped machine").costs
}

#[test]
fn lines_with_independent_addresses_overlap() {
    let mut costs = costs();
    assert_eq!([0, 1, 2, 11].map(|lines| costs.overlapped_lines(lines, 50)), [0, 50, 60, 150]);
    assert_eq!((costs.next_line(0, 50), costs.next_line(50, 50)), (50, 10));
    costs.next_line_permille = 120;
    assert_eq!(costs.overlapped_lines(11, 50), 110);
}

#[test]
fn a_kind_of_message_without_its_own_cost_takes_the_time_of_a_copy() {
    let mut costs = costs();
    costs.copy_kib = 50;
    costs.tcp_kib = 80;
    let kinds = [ChannelKind::Pipe, ChannelKind::Unix, ChannelKind::Tcp, ChannelKind::Udp];
    assert_eq!(kinds.map(|kind| costs.sending(kind, 2048)), [100, 100, 160, 100]);
    assert_eq!(costs.copying(2048), 100);
}

#[test]
fn a_pipe_keeps_pages_for_the_next_message() {
    let mut costs = costs();
    costs.pipe_page = 500;
    let pages = [0, 1, 4096, 4097, 16_384].map(|bytes| costs.pipe_pages(ChannelKind::Pipe, bytes, 1));
    assert_eq!(pages, [0, 0, 0, 500, 1500]);
    assert_eq!(costs.pipe_pages(ChannelKind::Pipe, 16_384, 2), 1000);
    assert_eq!(costs.pipe_pages(ChannelKind::Tcp, 16_384, 1), 0);
}

#[test]
fn dependent_lines_take_longer_to_refill_than_a_sequence() {
    let mut costs = costs();
    costs.refill_kib.llc = 40;
    costs.llc_line = 21;
    // 2.5 ns for a line of a sequence.
    assert_eq!(
        (costs.refill_lines(16, 0), costs.refill_lines(0, 16), costs.refill_lines(2, 3)),
        (40, 16 * 21, 5 + 3 * 21)
    );
    // Without a latency, half of a line that another core has modified.
    (costs.llc_line, costs.line.llc) = (0, 44);
    assert_eq!(costs.refill_lines(0, 1), 22);
}

#[test]
fn a_cost_within_a_cluster_is_that_of_the_cache_unless_it_is_given() {
    let table = |text: &str| toml::from_str::<ByDistance>(text).unwrap();
    let rest = "core = 6\nllc = 50\nnode = 60\nnear = 90\nfar = 200\n";
    let (without, with) = (table(rest), table(&format!("cluster = 37\n{rest}")));
    assert_eq!(Distance::ALL.map(|distance| without.at(distance)), [6, 50, 50, 60, 90, 200]);
    assert_eq!(Distance::ALL.map(|distance| with.at(distance)), [6, 37, 50, 60, 90, 200]);
    assert!(!toml::Table::try_from(without).unwrap().contains_key("cluster"), "as in its file");
}

#[test]
fn a_core_waits_for_the_line_of_a_counter_less_what_it_executes_meanwhile() {
    let mut costs = costs();
    costs.instruction_ps = 1000;
    assert_eq!((costs.window, costs.counter_wait(100)), (0, 100));
    // The window of 50 ns is full, or an atomic operation is nearer: on average 50 − 50 × 50 / (2 × 210) ns are hidden.
    costs.window = 50;
    assert_eq!(costs.counter_wait(100), 100 - (50 - 5));
    // The line arrives before the window is full.
    assert_eq!(costs.counter_wait(40), 3);
    // The atomic operation is always nearer than the end of the window: half of the distance is hidden.
    costs.window = 1000;
    assert_eq!(costs.counter_wait(500), 500 - 105);
    costs.instruction_ps = 0;
    assert_eq!(costs.counter_wait(500), 500);
}
