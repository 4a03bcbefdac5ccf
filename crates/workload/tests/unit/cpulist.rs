//! Unit tests of `cpulist.rs`.

use serde::Deserialize;

use super::{MOST_CPUS, parse, show};

/// Texts with their CPUs, and texts with words of the message that refuses them.
#[derive(Deserialize)]
struct Cases {
    accepted: Vec<Accepted>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Accepted {
    text: String,
    cpus: Option<usize>,
    list: Vec<usize>,
}

#[derive(Deserialize)]
struct Refused {
    text: String,
    cpus: Option<usize>,
    why: String,
}

#[test]
fn cpu_lists_follow_the_cases_that_python_follows() {
    let cases: Cases = serde_json::from_str(include_str!("../../../../tests/cpulists.json")).unwrap();
    for Accepted { text, cpus, list } in cases.accepted {
        assert_eq!(parse(&text, cpus), Ok(list), "{text}");
    }
    for Refused { text, cpus, why } in cases.refused {
        let message = parse(&text, cpus).expect_err(&text);
        assert!(message.contains(&why), "{text}: {message}");
    }
}

#[test]
fn a_written_list_is_read_back() {
    assert_eq!(show(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    for step in [1, 2, 3] {
        let cpus: Vec<usize> = (0..MOST_CPUS).filter(|cpu| cpu % step < 2).collect();
        assert_eq!(parse(&show(&cpus), None), Ok(cpus));
    }
}
