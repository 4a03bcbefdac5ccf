//! rt-app documents: translation of each part of the grammar, positions of errors, and no panic for any document.

mod support;

use proptest::prelude::*;
use schedlab_workload::code::Code;
use schedlab_workload::program::{Attributes, Mode, Op, Pattern, Policy, Program, Repeat, TimerMode};
use schedlab_workload::rtapp::{Place, RtAppError, read};
use schedlab_workload::{Cursor, Plan, Step};

fn program(text: &str) -> Program {
    read("test", text, None).unwrap_or_else(|error| panic!("{error}\n{text}")).program
}

/// Return a document with one thread `t` that performs `events` once.
fn once(events: &str) -> String {
    format!(r#"{{"tasks": {{"t": {{"loop": 1, {events}}}}}}}"#)
}

/// Return the operations of thread `t`'s body with loops unrolled and without operations for measurement.
fn operations(text: &str) -> Vec<Op> {
    fn flat(body: &[Op], into: &mut Vec<Op>) {
        for op in body {
            match op {
                Op::Stamp { .. }
                | Op::Record { .. }
                | Op::Lap { .. }
                | Op::Count { .. }
                | Op::Start { .. } => {}
                Op::Loop { body, repeat: Repeat::Count(_) } => flat(body, into),
                other => into.push(other.clone()),
            }
        }
    }
    let mut ops = Vec::new();
    flat(&program(text).groups[0].body, &mut ops);
    ops
}

fn json(ops: &[Op]) -> Vec<String> {
    ops.iter().map(|op| serde_json::to_string(op).unwrap()).collect()
}

#[track_caller]
fn refused(text: &str, line: u32, column: u32, words: &[&str]) {
    let error = read("test", text, None).expect_err("the document is wrong");
    let place = match &error {
        RtAppError::Syntax { place, .. } | RtAppError::Content { place, .. } => *place,
        RtAppError::Program(error) => panic!("no place: {error}"),
    };
    assert_eq!(place, Place { line, column }, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "`{word}` in: {error}");
    }
}

#[test]
fn times_are_in_microseconds() {
    let ops = operations(&once(r#""run": 1500, "sleep": 20, "yield": """#));
    assert_eq!(json(&ops), [r#"{"compute":{"ns":1500000}}"#, r#"{"sleep":{"ns":20000}}"#, r#""yield""#]);
}

#[test]
fn a_runtime_event_reads_the_clock_between_short_computations() {
    let ops = operations(&once(r#""runtime": 1000"#));
    assert_eq!(json(&ops), [r#"{"loop":{"repeat":{"for_ns":1000000},"body":[{"compute":{"ns":32000}}]}}"#]);
}

#[test]
fn events_may_carry_suffixes_and_be_repeated() {
    let ops = operations(&once(r#""run0": 1, "sleep1": 2, "run": 3, "run": 4, "runtime_b": 0, "sleep": 5"#));
    let expected = [
        r#"{"compute":{"ns":1000}}"#,
        r#"{"sleep":{"ns":2000}}"#,
        r#"{"compute":{"ns":3000}}"#,
        r#"{"compute":{"ns":4000}}"#,
        r#"{"loop":{"repeat":{"for_ns":0},"body":[{"compute":{"ns":1}}]}}"#,
        r#"{"sleep":{"ns":5000}}"#,
    ];
    assert_eq!(json(&ops), expected);
}

#[test]
fn comments_commas_and_quotes_are_parsed_as_in_rt_app() {
    let text = "// a comment\n{ 'tasks': { /* another **/ \"t\": { \"loop\": 1, \"run\": 7,\n \"suspend\", }, }, \
                \"global\": {\"gnuplot\": True,} }";
    let ops = operations(text);
    assert_eq!(json(&ops)[0], r#"{"compute":{"ns":7000}}"#);
    assert_eq!(ops.len(), 4, "suspend is lock, await, unlock");
}

#[test]
fn locks_conditions_and_suspension_are_translated() {
    let ops = operations(&once(
        r#""lock": "m", "wait": {"ref": "c", "mutex": "m"}, "sync": {"ref": "c", "mutex": "m"}, "unlock": "m",
           "signal": "c", "broadcast": "c", "sync2": {"ref": "c", "mutex": "m"}, "suspend": "", "resume": "t",
           "sem_post": "s", "sem_wait": "s", "barrier": "b""#,
    ));
    let expected = [
        r#"{"lock":{"lock":"m"}}"#,
        r#"{"await":{"condition":"c","lock":"m"}}"#,
        r#"{"signal":{"condition":"c"}}"#,
        r#"{"await":{"condition":"c","lock":"m"}}"#,
        r#"{"unlock":{"lock":"m"}}"#,
        r#"{"signal":{"condition":"c"}}"#,
        r#"{"signal":{"condition":"c","all":true}}"#,
        // Without the mutex, sync locks the mutex first, as in the tutorial's expansion.
        r#"{"lock":{"lock":"m"}}"#,
        r#"{"signal":{"condition":"c"}}"#,
        r#"{"await":{"condition":"c","lock":"m"}}"#,
        r#"{"unlock":{"lock":"m"}}"#,
        r#"{"lock":{"lock":"t"}}"#,
        r#"{"await":{"condition":"t","lock":"t"}}"#,
        r#"{"unlock":{"lock":"t"}}"#,
        r#"{"lock":{"lock":"t"}}"#,
        r#"{"signal":{"condition":"t","all":true}}"#,
        r#"{"unlock":{"lock":"t"}}"#,
        r#"{"up":{"semaphore":"s","count":1}}"#,
        r#"{"down":{"semaphore":"s"}}"#,
        r#"{"barrier":{"barrier":"b"}}"#,
    ];
    assert_eq!(json(&ops), expected);
}

#[test]
fn a_barrier_waits_for_every_instance_of_every_thread_that_names_it() {
    let text = r#"{"tasks": {
        "a": {"loop": 1, "instance": 3, "barrier": "b"},
        "b": {"loop": 1, "barrier": "b", "run": 1},
        "off": {"loop": 1, "instance": 0, "barrier": "b"}}}"#;
    let barriers = program(text).resources.barriers;
    assert_eq!(barriers.iter().map(|barrier| barrier.parties).collect::<Vec<_>>(), [4]);
}

#[test]
fn memory_and_device_events_use_buffers_of_their_size() {
    let text = r#"{"global": {"mem_buffer_size": 4096, "io_device": "/dev/null"}, "tasks": {"t": {"loop": 1,
        "mem": 10000, "iorun": 10000,
        "memrun": {"type": "chase", "size": 65536, "count": 100, "stride": 128},
        "memrun2": {"type": "read", "size": 1024, "count": 2048, "ref": "shared"}}}}"#;
    let program = program(text);
    let sizes: Vec<u64> = program.resources.regions.iter().map(|region| region.bytes).collect();
    assert_eq!(sizes, [65536, 4096, 1024]);
    let ops = operations(text);
    assert!(matches!(&ops[0], Op::Touch { bytes, stride: 64, write: true, .. } if *bytes == 10000u64.into()));
    // 10000 = 2 × 4096 + 1808, as rt-app writes from its buffer.
    assert_eq!(json(&ops[1..3])[0], r#"{"write":{"file":"io_device","bytes":4096}}"#);
    assert_eq!(json(&ops[1..3])[1], r#"{"write":{"file":"io_device","bytes":1808}}"#);
    let chase = Op::Touch {
        region: "chase 65536 by 128 at random".into(),
        offset: 0u64.into(),
        bytes: 12800u64.into(),
        stride: 128,
        pattern: Pattern::Random,
        write: false,
    };
    assert_eq!(ops[3], chase);
    assert!(matches!(&ops[4], Op::Touch { bytes, stride: 1, .. } if *bytes == 2048u64.into()));
}

/// Return the timer and counter steps of thread `t`. `now` maps the number of a clock reading to its time.
fn steps(text: &str, now: impl Fn(usize) -> u64) -> Vec<Step> {
    let plan = Plan::new(program(text)).unwrap();
    let code = Code::new(&plan, plan.task(0));
    let mut cursor = Cursor::new(&code, 0);
    let mut reading = 0;
    let mut next = || {
        cursor.next(|| {
            reading += 1;
            now(reading)
        })
    };
    std::iter::from_fn(|| Some(next()).filter(|step| *step != Step::End))
        .filter(|step| matches!(step, Step::Until { .. } | Step::Observe { .. } | Step::Count { by: 1, .. }))
        .collect()
}

#[test]
fn a_timer_counts_its_periods_from_the_start_of_its_thread() {
    let text = r#"{"tasks": {"t": {"loop": 3, "timer": {"ref": "unique", "period": 10}}}}"#;
    let untils: Vec<u64> = steps(text, |_| 5_000)
        .into_iter()
        .filter_map(|step| if let Step::Until { at_ns } = step { Some(at_ns) } else { None })
        .collect();
    assert_eq!(untils, [15_000, 25_000, 35_000]);
}

#[test]
fn a_missed_period_moves_only_a_relative_timer() {
    // The first reading of the clock is 0, every later reading is 25 µs. The period is 10 µs.
    for (mode, expected) in [("relative", vec![35_000]), ("absolute", vec![30_000])] {
        let text = format!(
            r#"{{"tasks": {{"t": {{"loop": 3, "timer": {{"ref": "unique", "period": 10, "mode": "{mode}"}}}}}}}}"#
        );
        let now = |reading| if reading == 1 { 0 } else { 25_000 };
        let untils: Vec<u64> = steps(&text, now)
            .into_iter()
            .filter_map(|step| if let Step::Until { at_ns } = step { Some(at_ns) } else { None })
            .collect();
        // Relative: the first end is missed, so the second period begins at 25 µs and the third at 35 µs. Absolute:
        // the ends at 10 and 20 µs are missed.
        let expected = if mode == "relative" { [expected, vec![45_000]].concat() } else { expected };
        assert_eq!(untils, expected, "{mode}");
    }
}

#[test]
fn a_timer_is_absolute_if_one_of_its_events_is_absolute() {
    let text = once(
        r#""timer1": {"ref": "x", "period": 5}, "timer2": {"ref": "x", "period": 5, "mode": "absolute"}"#,
    );
    let absolute = |op: &Op| matches!(op, Op::Timer { mode: TimerMode::Absolute, .. });
    assert_eq!(operations(&text).iter().filter(|op| absolute(op)).count(), 2);
}

#[test]
fn phases_run_in_turn_each_with_its_loop() {
    let text = r#"{"tasks": {"t": {"loop": 2, "phases": {
        "one": {"loop": 3, "run": 1}, "two": {"run": 2}, "none": {"loop": 0, "run": 9}}}}}"#;
    let plan = Plan::new(program(text)).unwrap();
    let code = Code::new(&plan, plan.task(0));
    let mut cursor = Cursor::new(&code, 0);
    let ran: Vec<u64> = std::iter::from_fn(|| Some(cursor.next(|| 0)).filter(|step| *step != Step::End))
        .filter_map(|step| if let Step::Compute { ns } = step { Some(ns / 1000) } else { None })
        .collect();
    assert_eq!(ran, [1, 1, 1, 2, 1, 1, 1, 2]);
}

#[test]
fn attributes_follow_threads_and_phases() {
    let text = r#"{"global": {"duration": 1, "default_policy": "SCHED_BATCH"}, "tasks": {
        "t": {"cpus": [2], "priority": 5, "nodes_membind": [0], "taskgroup": "/tg", "phases": {
            "one": {"cpus": [0, 1], "policy": "SCHED_FIFO", "run": 1},
            "two": {"run": 1, "util_max": 512}}},
        "d": {"policy": "SCHED_DEADLINE", "dl-runtime": 10, "dl-period": 30, "run": 1}}}"#;
    let set = |op: Op| if let Op::Set { attributes } = op { Some(attributes) } else { None };
    let sets: Vec<Attributes> = operations(text).into_iter().filter_map(set).collect();
    let thread = Attributes {
        policy: Some(Policy::Batch),
        priority: Some(5),
        cpus: Some(vec![2]),
        nodes: Some(vec![0]),
        group: Some("/tg".to_owned()),
        ..Attributes::default()
    };
    // The default priority of a real-time thread is 10. A phase without CPUs restores the CPUs of the thread.
    let first_phase = Attributes {
        policy: Some(Policy::Fifo),
        priority: Some(10),
        cpus: Some(vec![0, 1]),
        ..Attributes::default()
    };
    let second_phase = Attributes { util_max: Some(512), cpus: Some(vec![2]), ..Attributes::default() };
    assert_eq!(sets, [thread, first_phase, second_phase]);
    let Op::Set { attributes } = &program(text).groups[1].body[0] else { panic!("attributes come first") };
    assert_eq!((attributes.runtime_ns, attributes.deadline_ns), (Some(10_000), Some(30_000)));
}

#[test]
fn old_names_of_deadline_parameters_are_not_events() {
    let text = once(r#""policy": "SCHED_DEADLINE", "runtime": 10, "period": 20, "deadline": 15, "run": 3"#);
    let ops = operations(&text);
    let Op::Set { attributes } = &ops[0] else { panic!("attributes come first") };
    assert_eq!(
        (attributes.runtime_ns, attributes.deadline_ns, attributes.period_ns),
        (Some(10_000), Some(15_000), Some(20_000))
    );
    assert_eq!(json(&ops[1..]), [r#"{"compute":{"ns":3000}}"#]);
}

#[test]
fn forks_run_the_named_thread_and_are_waited_for() {
    let text = r#"{"tasks": {"t": {"loop": 1, "run": 1, "fork": "child"},
        "child": {"instance": 0, "loop": 2, "delay": 4, "run": 2}}}"#;
    let ops = operations(text);
    assert_eq!(program(text).groups.len(), 1, "a thread with 0 instances is not started");
    let Op::Fork { body } = &ops[1] else { panic!("a fork: {ops:?}") };
    assert_eq!(json(&body[..1]), [r#"{"sleep":{"ns":4000}}"#]);
    assert_eq!(ops[2], Op::Wait { count: None });
    assert_eq!(support::run(program(text)).forks, 1);
}

#[test]
fn a_duration_is_a_thread_that_ends_the_run() {
    let text = r#"{"global": {"duration": 1}, "tasks": {"duration": {"run": 1, "sleep": 10000}}}"#;
    let program = program(text);
    assert_eq!((program.groups[1].name.as_str(), program.groups[1].mode), ("duration_", Mode::Thread));
    let books = support::run(program);
    assert!((1_000_000_000..1_100_000_000).contains(&books.end_ns), "{}", books.end_ns);
    // The caller's duration overrides the duration of the document.
    let books = support::run(read("test", text, Some(2)).unwrap().program);
    assert!((2_000_000_000..2_100_000_000).contains(&books.end_ns), "{}", books.end_ns);
}

#[test]
fn two_threads_that_wake_each_other_run_to_their_end() {
    let text = r#"{"tasks": {
        "master": {"phases": {"start": {"sleep": 1000}, "main": {"loop": 8,
            "lock": "m", "run": 10, "signal": "q", "run": 10, "unlock": "m", "run": 100, "resume": "slave",
            "timer": {"ref": "tick", "period": 2000}}}, "loop": 1},
        "slave": {"loop": 3, "lock": "m", "wait": {"ref": "q", "mutex": "m"}, "unlock": "m", "run": 10,
            "suspend": "slave", "run": 10}}}"#;
    let books = support::run(program(text));
    let names = program(text).counters;
    let total = |name: &str| books.counters[names.iter().position(|each| each == name).unwrap()];
    assert_eq!((total("master.loops"), total("slave.loops")), (9, 3));
}

#[test]
fn notes_list_parts_without_effect() {
    let text = r#"{"global": {"duration": 1, "pi_enabled": true, "logdir": "./", "gnuplot": false, "calibration": 3},
        "tasks": {"t": {"run": 1, "resume": "nobody"}}}"#;
    let notes = read("test", text, None).unwrap().notes.join("\n");
    for word in ["pi_enabled", "global.logdir, global.gnuplot", "calibration", "no thread `nobody`"] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
}

#[test]
fn errors_have_a_position() {
    let wrong = "{\"tasks\": {\n  \"thread0\": {\n    \"sleeep\": 5 } } }";
    refused(wrong, 3, 5, &["tasks.thread0.sleeep", "unknown event", "`sleeep`", "sleep"]);
    refused("{\"tasks\": {\"t\": {\"run\": 1.5}}}", 1, 25, &["tasks.t.run", "whole number"]);
    refused("{\"tasks\": {\"t\": {\"run\": -1}}}", 1, 25, &["-1", "not between 0"]);
    refused("{\"tasks\": {\"t\": {\"run\": 99999999999999999999}}}", 1, 25, &["out of range"]);
    refused("{\"tasks\": {\"t\": {\"run\": 1}\n", 1, 11, &["no end"]);
    refused("{\n /* open", 2, 2, &["comment has no end"]);
    refused("{\"tasks\": {\"t\": {\"run\": 1}}} x", 1, 30, &["`x` follows"]);
    refused("{\"global\": {}}", 1, 1, &["no `tasks`"]);
    refused("{\"task\": {}}", 1, 2, &["unknown object `task`"]);
    refused("{\"tasks\": {}}", 1, 11, &["no thread to start"]);
    refused("{\"tasks\": {\"t\": {\"cpus\": [0]}}}", 1, 12, &["no event"]);
    refused("{\"tasks\": {\"t\": {\"run\": 1, \"loop\": 1, \"loop\": 2}}}", 1, 39, &["twice"]);
    refused("{\"tasks\": {\"t\": {\"run\": 1}}}", 1, 12, &["without end", "duration"]);
    refused(&once("\"fork\": \"x\""), 1, 29, &["no thread `x`"]);
    refused(&once("\"fork\": \"t\""), 1, 29, &["forks itself"]);
    refused(&once("\"wait\": {\"ref\": \"c\", \"mutex\": \"m\"}"), 1, 29, &["has to be locked"]);
    refused(&once("\"run\": 1, \"priority\": 60, \"policy\": \"SCHED_OTHER\""), 1, 12, &["60", "-20 and 19"]);
    refused(&once("\"run\": 1, \"policy\": \"SCHED_DEADLINE\""), 1, 12, &["runtime"]);
    refused(&once("\"run\": 1, \"phases\": {\"p\": {\"run\": 1}}"), 1, 29, &["next to `phases`"]);
    let shared = r#"{"tasks": {"t": {"instance": 2, "loop": 1, "timer": {"ref": "x", "period": 1}}}}"#;
    refused(shared, 1, 44, &["`x` is shared", "unique"]);
}

#[test]
fn deep_brackets_and_wide_forks_are_refused() {
    refused(&"[".repeat(100_000), 1, 34, &["nested more than 32 deep"]);
    // 21 threads that each fork the next thread twice would make 2^21 bodies.
    let thread = |n: u32| {
        let forks =
            if n < 21 { format!(r#""fork1": "t{0}", "fork2": "t{0}", "#, n + 1) } else { String::new() };
        format!(r#""t{n}": {{"loop": 1, "instance": {}, {forks} "run": 1}}"#, u32::from(n == 0))
    };
    let threads: Vec<String> = (0..22).map(thread).collect();
    let error = read("test", &format!(r#"{{"tasks": {{{}}}}}"#, threads.join(",")), None).unwrap_err();
    assert!(error.to_string().contains("131072 events"), "{error}");
}

#[test]
fn large_documents_are_programs_or_errors() {
    let many = r#"{"tasks": {"t": {"instance": 100000, "loop": 1, "run": 1, "sleep": 1}}}"#;
    assert_eq!(Plan::new(program(many)).unwrap().task_count(), 100_000);
    let large =
        r#"{"global": {"mem_buffer_size": 10000000000}, "tasks": {"t": {"loop": 1, "mem": 10000000000}}}"#;
    assert_eq!(program(large).resources.regions[0].bytes, 10_000_000_000);
    let too_many = r#"{"tasks": {"t": {"instance": 4294967295, "loop": 1, "run": 1}}}"#;
    assert!(matches!(read("test", too_many, None), Err(RtAppError::Program(_))));
    let objects: Vec<String> = (0..2000).map(|n| format!(r#""t{n}": {{"loop": 1, "run": 1}}"#)).collect();
    let reading = read("test", &format!(r#"{{"tasks": {{{}}}}}"#, objects.join(",")), None).unwrap();
    assert!(reading.program.series.len() < 5, "thousands of threads are measured together");
    assert!(reading.notes[0].contains("measured together"));
}

#[test]
fn the_program_of_a_document_is_unchanged_by_a_json_round_trip() {
    let text = r#"{"global": {"duration": 1}, "tasks": {"t": {"phases": {"p": {"priority": 3, "run": 5,
        "timer": {"ref": "unique", "period": 9}, "iorun": 5, "lock": "m", "wait": {"ref": "c", "mutex": "m"}}}}}}"#;
    let program = program(text);
    let again: Program = serde_json::from_str(&serde_json::to_string(&program).unwrap()).unwrap();
    assert_eq!(again, program);
}

/// Return text that resembles a document, with random mistakes.
fn document() -> impl Strategy<Value = String> {
    let name = prop_oneof![Just("a"), Just("b"), Just("unique"), Just("m"), Just("zz")];
    let number = prop_oneof![0i64..5000, Just(-1), Just(i64::MAX), Just(i64::MIN), Just(10_000_000_000)];
    let value = prop_oneof![
        6 => number.prop_map(|number| number.to_string()),
        4 => name.clone().prop_map(|name| format!("\"{name}\"")),
        2 => (name.clone(), 0u32..100).prop_map(|(name, n)| format!(r#"{{"ref": "{name}", "mutex": "m", "period": {n}}}"#)),
        2 => (name.clone(), 0u32..100).prop_map(|(name, n)| format!(r#"{{"ref": "{name}", "period": {n}}}"#)),
        1 => Just("[0, 1]".to_owned()),
        1 => Just("\"SCHED_FIFO\"".to_owned()),
        1 => Just("null".to_owned()),
    ];
    let key = prop_oneof![
        8 => prop_oneof![
            Just("run"), Just("runtime"), Just("sleep"), Just("timer"), Just("lock"), Just("unlock"), Just("wait"),
            Just("signal"), Just("sync"), Just("barrier"), Just("suspend"), Just("resume"), Just("mem"), Just("iorun"),
            Just("fork"), Just("yield"), Just("sem_post"), Just("sem_wait"),
        ],
        2 => prop_oneof![
            Just("loop"), Just("instance"), Just("delay"), Just("cpus"), Just("policy"), Just("priority"),
            Just("taskgroup"), Just("dl-runtime"), Just("nonsense"),
        ],
    ];
    let member = (key, value).prop_map(|(key, value)| format!("\"{key}\": {value}"));
    let body = prop::collection::vec(member, 1..6).prop_map(|members| members.join(", "));
    let thread = prop_oneof![
        body.clone().prop_map(|body| format!("{{\"loop\": 1, {body}}}")),
        prop::collection::vec(body, 1..3).prop_map(|phases| {
            let phases: Vec<_> =
                phases.iter().enumerate().map(|(n, body)| format!("\"p{n}\": {{{body}}}")).collect();
            format!("{{\"loop\": 2, \"phases\": {{{}}}}}", phases.join(","))
        }),
    ];
    prop::collection::vec((name, thread), 1..4).prop_map(|threads| {
        let threads: Vec<_> = threads.iter().map(|(name, thread)| format!("\"{name}\": {thread}")).collect();
        format!("{{\"global\": {{\"duration\": 1}}, \"tasks\": {{{}}}}}", threads.join(",\n"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_document_is_a_program_or_an_error_within_the_text(text in document()) {
        match read("random", &text, None) {
            Ok(reading) => {
                let plan = Plan::new(reading.program).expect("a reading has been checked");
                for task in plan.tasks().take(3) {
                    let code = Code::new(&plan, task);
                    let mut cursor = Cursor::new(&code, 0);
                    for now in 0..200 {
                        cursor.next(|| now * 1000);
                    }
                }
            }
            Err(RtAppError::Syntax { place, .. } | RtAppError::Content { place, .. }) => {
                prop_assert!(place.line as usize <= text.lines().count());
            }
            Err(RtAppError::Program(_)) => {}
        }
    }

    #[test]
    fn a_damaged_document_never_panics(text in document(), at in any::<prop::sample::Index>(), other in any::<char>()) {
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        characters[at] = other;
        let _ = read("damaged", &characters.iter().collect::<String>(), None);
        let _ = read("cut", &characters[..at].iter().collect::<String>(), None);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read("any", &text, None);
    }
}
