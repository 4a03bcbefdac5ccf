use super::{Vote, vote};
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
