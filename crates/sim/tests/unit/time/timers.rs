use proptest::prelude::*;

use super::Timers;

proptest! {
    #[test]
    fn timers_fire_by_time_and_then_in_the_order_of_arming(times in prop::collection::vec(0u64..40, 0..200)) {
        let mut timers = Timers::default();
        times.iter().enumerate().for_each(|(owner, at)| timers.arm(*at, owner as u32));
        let mut expected: Vec<_> = times.iter().enumerate().map(|(owner, at)| (*at, owner as u32)).collect();
        expected.sort();
        let fired: Vec<_> = std::iter::from_fn(|| timers.pop()).map(|timer| (timer.at, timer.owner)).collect();
        prop_assert_eq!(fired, expected);
    }

    #[test]
    fn timers_stay_in_order_when_arming_and_firing_alternate(
        turns in prop::collection::vec(prop::option::weighted(0.6, 0u64..1000), 0..400),
    ) {
        let (mut timers, mut plain, mut armed) = (Timers::default(), std::collections::BTreeSet::new(), 0);
        for turn in turns {
            if let Some(at) = turn {
                timers.arm(at, armed);
                plain.insert((at, armed));
                armed += 1;
            } else {
                prop_assert_eq!(timers.pop().map(|timer| (timer.at, timer.owner)), plain.pop_first());
            }
            prop_assert_eq!(timers.first().map(|timer| (timer.at, timer.owner)), plain.first().copied());
            prop_assert_eq!(timers.length as usize + timers.heap.len(), plain.len());
        }
    }
}
