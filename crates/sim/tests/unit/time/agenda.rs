use proptest::prelude::*;

use super::{Agenda, NEVER};

proptest! {
    #[test]
    fn the_first_event_is_the_earliest_of_all(
        slots in 1usize..150, changes in prop::collection::vec((0usize..150, 0u64..50), 1..150),
    ) {
        let mut agenda = Agenda::new(slots);
        let mut plain = vec![NEVER; slots];
        for (slot, at) in changes {
            let at = if at > 40 { NEVER } else { at };
            agenda.set(slot % slots, at);
            plain[slot % slots] = at;
            let first = plain.iter().enumerate().map(|(slot, at)| (*at, slot)).min();
            prop_assert_eq!(agenda.first(), first.filter(|(at, _)| *at < NEVER));
            prop_assert_eq!(agenda.at(slot % slots), at);
        }
    }
}
