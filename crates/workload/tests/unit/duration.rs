//! Unit tests of `duration.rs`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::nanoseconds;

/// Texts with their nanoseconds, and texts with words of the message that refuses them.
#[derive(Deserialize)]
struct Cases {
    accepted: BTreeMap<String, u64>,
    refused: BTreeMap<String, String>,
}

#[test]
fn durations_follow_the_cases_that_python_follows() {
    let cases: Cases = serde_json::from_str(include_str!("../../../../tests/durations.json")).unwrap();
    for (text, ns) in &cases.accepted {
        assert_eq!(nanoseconds(text), Ok(*ns), "{text}");
    }
    for (text, why) in &cases.refused {
        let message = nanoseconds(text).expect_err(text);
        assert!(message.contains(why), "{text}: {message}");
    }
}
