//! The bodies of the fuzzing targets on stable Rust, with seeded mutations of valid files. cargo-fuzz finds more faults,
//! because it measures the coverage of each text; these tests run without cargo-fuzz.

#[path = "../../../fuzz/bodies.rs"]
mod bodies;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use schedlab_sim::time::Random;

/// Default number of mutations of each kind of file; `SCHEDLAB_FUZZ_CASES` overrides this number.
const CASES: u64 = 120;

/// Time limit of a case. Cases that end take less than a second.
const PATIENCE: Duration = Duration::from_secs(100);

/// Numbers at which arithmetic overflows, and ordinary numbers.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "100",
    "255",
    "1000",
    "65536",
    "1000000",
    "2147483647",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
    "1.5",
];

const MACHINES: [&str; 2] =
    [include_str!("../models/machines/laptop-4.toml"), include_str!("../models/machines/kunpeng920.toml")];

const KERNELS: [&str; 3] = [
    include_str!("../models/kernels/linux-2.5.59.toml"),
    include_str!("../models/kernels/linux-5.14.toml"),
    include_str!("../models/kernels/linux-6.12.toml"),
];

const RT_APP: [&str; 4] = [
    r#"{"global": {"duration": 1, "default_policy": "SCHED_OTHER", "calibration": 100},
        "tasks": {"one": {"instance": 3, "loop": 10, "run": 100, "sleep": 200, "timer": {"ref": "unique", "period": 1000}},
                  "two": {"loop": -1, "runtime": 50, "yield": "", "cpus": [0, 1], "priority": 5, "policy": "SCHED_BATCH"}}}"#,
    r#"{"tasks": {"a": {"loop": 3, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 10},
                  "b": {"loop": 9, "lock": "m", "signal": "c", "unlock": "m", "sleep": 100, "resume": "b"}}}"#,
    r#"{"tasks": {"p": {"loop": 2, "phases": {"x": {"loop": 4, "run": 20, "barrier": "all"}, "y": {"loop": 2, "mem": 4096}}},
                  "q": {"loop": 8, "run": 30, "barrier": "all", "iorun": 1024, "fork": "c"}, "c": {"instance": 0, "loop": 1, "run": 9}}}"#,
    r#"{"tasks": {"s1": {"loop": 5, "sem_wait": "s", "run": 5, "broad": "c"},
                  "s2": {"loop": 5, "run": 5, "resume": "s1", "sem_post": "s"}}}"#,
];

/// Return a text with one to four changes of a number, a line, a piece or a character.
fn mutated(random: &mut Random, corpus: &[&str]) -> String {
    let pick = |random: &mut Random, below: usize| random.below(below.max(1) as u64) as usize;
    let mut text: Vec<char> = corpus[pick(random, corpus.len())].chars().collect();
    for _ in 0..=random.below(4) {
        let numbers: Vec<(usize, usize)> = numbers(&text);
        let at = pick(random, text.len());
        let until = (at + pick(random, 30)).min(text.len());
        match random.below(8) {
            0..5 if !numbers.is_empty() => {
                let (from, until) = numbers[pick(random, numbers.len())];
                let number = NUMBERS[pick(random, NUMBERS.len())];
                text.splice(from..until, number.chars());
            }
            5 => drop(text.drain(at..until)),
            6 => {
                let piece = text[at..until].to_vec();
                text.splice(at..at, piece);
            }
            _ => {
                let other = "{}[],:=\"\n 0a-."[pick(random, 13)..].chars().next();
                text.splice(at..(at + 1).min(text.len()), other);
            }
        }
    }
    text.into_iter().collect()
}

/// Return the ranges of the numbers in a text.
fn numbers(text: &[char]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (at, char) in text.iter().enumerate() {
        let word_before = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
        match ranges.last_mut() {
            Some((_, until)) if char.is_ascii_digit() && *until == at => *until += 1,
            _ if char.is_ascii_digit() && !word_before => ranges.push((at, at + 1)),
            _ => {}
        }
    }
    ranges
}

/// Run a body on mutations. A panic or a hang prints the text.
fn fuzz(seed: u64, corpus: &'static [&str], body: fn(&str) -> bool) {
    corpus.iter().for_each(|text| assert!(body(text), "a mutation begins with a simulated text:\n{text}"));
    let asked =
        std::env::var("SCHEDLAB_FUZZ_CASES").ok().map(|text| text.parse().expect("a number of cases"));
    let mut random = Random::new(seed);
    let mut accepted = 0;
    for case in 0..asked.unwrap_or(CASES) {
        let text = mutated(&mut random, corpus);
        let (result, receiver) = channel();
        let input = text.clone();
        std::thread::spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| body(&input)));
            result.send(done.ok())
        });
        match receiver.recv_timeout(PATIENCE) {
            Ok(Some(ran)) => accepted += u64::from(ran),
            Err(RecvTimeoutError::Timeout) => panic!("case {case} hangs:\n{text}"),
            _ => panic!("case {case} panics:\n{text}"),
        }
    }
    assert!(
        accepted * 20 > asked.unwrap_or(CASES),
        "{accepted} mutations were simulated: too few to find faults"
    );
}

#[test]
fn any_rt_app_document_ends_in_a_result_or_an_error() {
    fuzz(1, &RT_APP, bodies::rtapp);
}

#[test]
fn any_machine_file_ends_in_a_result_or_an_error() {
    fuzz(2, &MACHINES, bodies::machine_file);
}

#[test]
fn any_kernel_file_ends_in_a_result_or_an_error() {
    fuzz(3, &KERNELS, bodies::kernel_file);
}
