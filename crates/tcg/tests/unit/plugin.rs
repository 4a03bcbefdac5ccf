//! Unit tests of `plugin.rs`.

use super::*;

#[test]
fn a_guest_has_a_shape_and_memory() {
    let described = guest("2x4x1x2x536870912x").unwrap();
    assert_eq!((described.sockets, described.cores, described.threads), (2, 4, 1));
    assert_eq!((described.nodes, described.node_bytes, described.doubled), (2, 536_870_912, true));
    assert!(!guest("1x1x1x1x536870912").unwrap().doubled);
    assert!(guest("2x4").is_err());
    assert!(guest("2x4x1x2xmuch").is_err());
}
