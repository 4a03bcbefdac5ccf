use proptest::prelude::*;

use super::{Item, Ordered};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    key: i64,
    value: i64,
    task: u32,
}

impl Item for Entry {
    const NOBODY: Self = Self { key: 0, value: 0, task: u32::MAX };

    fn task(&self) -> u32 {
        self.task
    }

    fn before(&self, other: &Self) -> bool {
        self.key < other.key
    }

    fn value(&self) -> i64 {
        self.value
    }
}

proptest! {
    #[test]
    fn order_and_searches_agree_with_a_plain_list(
        steps in prop::collection::vec((0i64..60, -40i64..40, any::<bool>()), 1..900), bound in -45i64..45,
        most in 1usize..400,
    ) {
        let (mut ordered, mut plain) = (Ordered::<Entry, 4>::default(), Vec::<Entry>::new());
        for (task, (key, value, keep)) in steps.into_iter().enumerate() {
            if plain.is_empty() || (keep && plain.len() < most) {
                let entry = Entry { key, value, task: task as u32 };
                ordered.insert(entry);
                plain.insert(plain.partition_point(|other| other.key <= key), entry);
            } else if value > 20 {
                prop_assert_eq!(ordered.pop(), Some(plain.remove(0)));
            } else {
                let gone = plain.remove(key as usize % plain.len());
                prop_assert!(ordered.remove(&gone));
                prop_assert!(!ordered.remove(&gone));
            }
            prop_assert_eq!(ordered.is_empty(), plain.is_empty());
            prop_assert_eq!(ordered.first(), plain.first());
            prop_assert_eq!(ordered.only(), plain.first().filter(|_| plain.len() == 1));
            prop_assert_eq!(ordered.second(), plain.get(1));
            let least = plain.iter().map(|entry| entry.value).min();
            prop_assert_eq!(ordered.least_value(), least.unwrap_or(i64::MAX));
            let fitting = plain.iter().find(|entry| entry.value <= bound);
            prop_assert_eq!(ordered.first_that(|value| value <= bound), fitting);
        }
        let mut visited = Vec::new();
        ordered.visit(|entry| {
            visited.push(*entry);
            visited.len() < most
        });
        prop_assert_eq!(&visited[..], &plain[..most.min(plain.len())]);
        prop_assert_eq!(ordered.iter().copied().collect::<Vec<_>>(), plain);
    }
}
