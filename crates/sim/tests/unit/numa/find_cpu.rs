use super::Node;
use crate::sched::Sum;

fn node(load: u64) -> Node {
    Node { id: 0, sum: Sum { width: 2, number: 2, load, idle: 0 } }
}

#[test]
fn a_move_may_not_make_the_loads_of_nodes_less_even() {
    assert!(!node(2048).too_imbalanced(&node(1024), 1024, 100), "the other way round is as even");
    assert!(node(2048).too_imbalanced(&node(1024), 1025, 100));
    assert!(node(2048).too_imbalanced(&node(2048), 100, 100));
    // 2148 is 1.10 times 1948: within 12 %.
    assert!(!node(2048).too_imbalanced(&node(2048), 100, 112));
    assert!(node(2048).too_imbalanced(&node(2048), 200, 112));
}
