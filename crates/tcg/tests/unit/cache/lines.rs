//! Unit tests of `cache/lines.rs`.

use super::*;

fn clean(line: u64) -> Way {
    Way { line, modified: false }
}

#[test]
fn the_least_recently_used_line_of_a_set_is_replaced() {
    let mut cache = Lines::new(1); // two sets
    for number in 0..8 {
        assert_eq!(cache.insert(clean(number * 2)), None);
    }
    assert!(cache.find(0).is_some());
    assert_eq!(cache.insert(clean(16)), Some(clean(2)));
    assert_eq!(cache.insert(clean(1)), None, "the other set has room");
    assert!(cache.find(2).is_none());
}

#[test]
fn a_removed_line_leaves_room_for_another() {
    let mut cache = Lines::new(1);
    for number in 0..8 {
        cache.insert(clean(number * 2));
    }
    cache.remove(6);
    cache.remove(100);
    assert_eq!(cache.insert(clean(16)), None);
    assert!(cache.find(6).is_none());
    assert!(cache.find(0).is_some());
}

#[test]
fn a_cache_smaller_than_a_set_has_one_set() {
    let mut cache = Lines::new(0);
    for number in 0..8 {
        assert_eq!(cache.insert(clean(number)), None);
    }
    assert_eq!(cache.insert(clean(8)), Some(clean(0)));
}
