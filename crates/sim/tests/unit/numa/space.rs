use super::{Space, Vote, vote};
use crate::numa::NOWHERE;

/// Votes of faults from `nodes` on a page of node 0 that is marked before each fault.
fn votes(nodes: &[u8]) -> Vec<Vote> {
    let mut last = NOWHERE;
    nodes.iter().map(|node| vote(&mut last, &mut true, 0, *node)).collect()
}

#[test]
fn two_faults_in_a_row_from_another_node_move_a_page() {
    use Vote::{Moves, Stays};
    assert_eq!(votes(&[1]), [Stays]);
    assert_eq!(votes(&[1, 1]), [Stays, Moves]);
    assert_eq!(votes(&[1, 0, 1, 0, 1]), [Stays; 5], "alternating faults do not move the page");
    assert_eq!(votes(&[1, 2, 2]), [Stays, Stays, Moves]);
    assert_eq!(votes(&[0, 0, 0]), [Stays; 3], "the page is on that node already");
}

#[test]
fn a_second_page_of_the_same_granule_is_no_second_fault() {
    let (mut last, mut fresh) = (NOWHERE, true);
    assert_eq!(vote(&mut last, &mut fresh, 0, 1), Vote::Stays);
    assert_eq!(vote(&mut last, &mut fresh, 0, 1), Vote::Stays, "not marked again in between");
    fresh = true;
    assert_eq!(vote(&mut last, &mut fresh, 0, 1), Vote::Moves);
}

/// 600 inherited pages take three scans of 256 pages, and the pass ends behind them. Pages that processes share may be spared.
#[test]
fn scans_of_inherited_pages_go_on_where_the_last_scan_ended() {
    let mut space = Space { inherited: 600, ..Space::default() };
    let scans: Vec<_> = (0..4).map(|_| space.scan(&[], &[], 256, None, false)).collect();
    assert_eq!(scans, [(256, 256), (256, 256), (88, 88), (256, 0)]);
    assert_eq!((space.passes, space.marked(), space.pages(&[])), (1, 600, 600));
    let mut shared = Space { inherited: 600, ..Space::default() };
    assert_eq!(shared.scan(&[], &[], 1000, None, true), (600, 0));
    assert_eq!((shared.passes, shared.marked()), (1, 0));
}
