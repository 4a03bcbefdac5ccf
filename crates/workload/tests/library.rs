//! Programs of the library end for random parameters and receive all sent bytes; each declared default lies within its
//! range.

mod support;

use proptest::prelude::*;
use schedlab_workload::code::Code;
use schedlab_workload::library::cyclic::Cyclic;
use schedlab_workload::library::forkstorm::Forkstorm;
use schedlab_workload::library::futex::Futex;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::kernbench::Kernbench;
use schedlab_workload::library::kernel_path::{KernelPath, Path};
use schedlab_workload::library::pgbench::{Pgbench, Script};
use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::library::rr::Rr;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::library::scripts::Scripts;
use schedlab_workload::library::stream::{Protocol, Stream};
use schedlab_workload::library::tbench::Tbench;
use schedlab_workload::library::wakeup::Wakeup;
use schedlab_workload::library::workloads;
use schedlab_workload::library::yielding::Yielding;
use schedlab_workload::program::{Image, Mode};
use schedlab_workload::{Cursor, Op, Plan, Program, Step, TaskId};
use serde_json::{Map, Value, json};
use support::{Books, run};

/// Run a program and check that every byte sent was received.
fn balanced(program: Program) -> Books {
    let books = run(program);
    for (way, (sent, received)) in &books.traffic {
        assert_eq!(sent, received, "{way:?}");
    }
    books
}

/// Return whether each unit of the first counter has a sample. At each edge of the window, sample and count of one
/// operation per task may lie on different sides.
fn samples_match_counter(books: &Books, tasks: u32) -> bool {
    (books.samples.len() as u64).abs_diff(books.counters[0]) <= u64::from(tasks) * 2
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hackbench(groups in 1u32..4, fds in 1u32..5, loops in 1u64..40, datasize in 1u64..5000) {
        let parameters = Hackbench { groups, fds, loops, datasize, channel: Carrier::Pipe, ..Hackbench::default() };
        let books = balanced(parameters.program().unwrap());
        let total: u64 = books.traffic.values().map(|(sent, _)| sent).sum();
        prop_assert_eq!(total, u64::from(groups) * u64::from(fds * fds) * loops * datasize);
    }

    #[test]
    fn pipetest(loops in 1u64..300, size in 1u64..100) {
        let books = balanced(Pipetest { loops, size, mode: Mode::Process }.program().unwrap());
        prop_assert_eq!(books.samples.len() as u64, loops);
        prop_assert_eq!(&books.counters, &[loops]);
    }

    #[test]
    fn stream(
        protocol in protocol(), size in 1u64..20_000, pairs in 1u32..4, warmup_ns in 0u64..100_000_000,
    ) {
        let parameters = Stream { protocol, size, pairs, warmup_ns, duration_ns: 50_000_000, ..Stream::default() };
        let books = balanced(parameters.program().unwrap());
        prop_assert!(books.counters[0] > 0 && books.counters[1] > 0);
        let total: u64 = books.traffic.values().map(|(sent, _)| sent).sum();
        prop_assert!(books.counters[0] <= total && books.counters[1] <= total);
    }

    #[test]
    fn stream_by_bytes(protocol in protocol(), size in 1u64..20_000, bytes in 1u64..1_000_000) {
        let parameters = Stream { protocol, size, bytes: Some(bytes), ..Stream::default() };
        let books = balanced(parameters.program().unwrap());
        let rounded = bytes.div_ceil(size) * size;
        prop_assert_eq!(&books.counters, &[rounded, rounded]);
    }

    #[test]
    fn rr(protocol in protocol(), request in 1u64..3000, reply in 1u64..3000, pairs in 1u32..4) {
        let parameters =
            Rr { protocol, request, reply, pairs, warmup_ns: 1_000_000, duration_ns: 20_000_000, ..Rr::default() };
        let books = balanced(parameters.program().unwrap());
        prop_assert!(books.counters[0] > 0);
        prop_assert!(samples_match_counter(&books, pairs));
    }

    #[test]
    fn pgbench(clients in 1u32..6, scale in 1u32..4, write in any::<bool>(), flush_ns in 0u64..10_000) {
        let mode = if write { Script::ReadWrite } else { Script::ReadOnly };
        let parameters = Pgbench {
            clients, scale, mode, flush_ns, warmup_ns: 1_000_000, duration_ns: 30_000_000, ..Pgbench::default()
        };
        let books = balanced(parameters.program().unwrap());
        prop_assert!(books.counters[0] > 0);
        prop_assert!(samples_match_counter(&books, clients));
    }

    #[test]
    fn kernbench(jobs in 1u32..20, directories in 1u32..6, files in 1u32..6) {
        let books = run(Kernbench { jobs, directories, files, ..Kernbench::default() }.program().unwrap());
        // A compiler for each file, an archive for each directory, and the link.
        prop_assert_eq!(books.execs, u64::from(directories * (files + 1) + 1));
    }

    #[test]
    fn wakeup(messages in 1u32..4, workers in 1u32..6, request_ns in 0u64..100_000) {
        let parameters = Wakeup {
            messages, workers, request_ns, warmup_ns: 1_000_000, duration_ns: 20_000_000, ..Wakeup::default()
        };
        let books = balanced(parameters.program().unwrap());
        prop_assert!(!books.samples.is_empty());
    }

    #[test]
    fn cyclic(threads in 1u32..4, interval_ns in 1000u64..2_000_000, distance_ns in 0u64..1_000_000) {
        const DURATION_NS: u64 = 20_000_000;
        let parameters = Cyclic { threads, interval_ns, distance_ns, warmup_ns: 0, duration_ns: DURATION_NS };
        let books = run(parameters.program().unwrap());
        // Each planned time is a wake-up or missed. Times that pass before a thread has its turn at the end are neither.
        let planned: u64 =
            (0..threads).map(|thread| DURATION_NS / (interval_ns + u64::from(thread) * distance_ns)).sum();
        let (recorded, turn_ns) = (books.samples.len() as u64 + books.counters[0], 200_000 * u64::from(threads));
        prop_assert!(recorded.abs_diff(planned) <= u64::from(threads) * (2 + turn_ns / interval_ns));
    }

    #[test]
    fn futex(pairs in 1u32..6, duration_ns in 1_000_000u64..20_000_000) {
        let books = run(Futex { pairs, warmup_ns: 0, duration_ns, ..Futex::default() }.program().unwrap());
        prop_assert!(samples_match_counter(&books, pairs));
    }

    #[test]
    fn scripts(streams in 1u32..6, scripts in 1u64..30, seed in any::<u64>()) {
        let books = run(Scripts { streams, scripts, seed }.program().unwrap());
        let all = u64::from(streams) * scripts;
        prop_assert_eq!(books.samples.len() as u64, all);
        // A shell and one to five commands for each script.
        prop_assert!((2 * all..=6 * all).contains(&books.execs));
    }
}

#[test]
fn a_cyclic_thread_that_oversleeps_skips_the_passed_times() {
    let plan = Plan::new(Cyclic { warmup_ns: 0, ..Cyclic::default() }.program().unwrap()).unwrap();
    let code = Code::new(&plan, plan.task(0));
    let mut cursor = Cursor::new(&code, 10_000_000);
    let mut now = 0;
    let mut steps = Vec::new();
    // The interval is 1 ms. The thread wakes up in time, 3.5 ms late, and in time.
    for late_ns in [1000, 3_500_000, 2000] {
        let step = loop {
            match cursor.next(|| now) {
                Step::Until { at_ns } => break at_ns,
                step => steps.push(step),
            }
        };
        now = step + late_ns;
    }
    assert_eq!(now, 6_002_000, "the times up to 5 ms have passed at 5.5 ms");
    let missed = Step::Count { counter: 0, by: 1 };
    let late = |ns| Step::Observe { series: 0, ns };
    assert_eq!(steps, [late(1000), late(3_500_000), missed, missed, missed]);
}

#[test]
fn tbench_moves_the_load_files_data() {
    let parameters =
        Tbench { clients: 2, warmup_ns: 10_000_000, duration_ns: 100_000_000, ..Tbench::default() };
    let books = balanced(parameters.program().unwrap());
    let (bytes, operations) = (books.counters[0], books.counters[1]);
    assert!((4000..7000).contains(&(bytes / operations)), "{bytes} bytes in {operations} operations");
    // Each operation is recorded in the series of all operations and in the series of its kind.
    assert!((books.samples.len() as u64).abs_diff(operations * 2) <= 8);
}

#[test]
fn programs_of_forks_yields_and_walks_end() {
    for exec in [false, true] {
        let storm = Forkstorm { exec, warmup_ns: 0, duration_ns: 10_000_000, ..Forkstorm::default() };
        let books = run(storm.program().unwrap());
        assert!(books.counters[0] > 0 && books.forks >= books.counters[0]);
        assert_eq!(books.execs > 0, exec);
    }
    let yielding = Yielding { warmup_ns: 0, duration_ns: 10_000_000, ..Yielding::default() };
    assert!(run(yielding.program().unwrap()).counters[0] > 0);
    run(Schedbench { walks: 6, ..Schedbench::default() }.program().unwrap());
}

#[test]
fn only_paths_with_messages_have_a_size() {
    let sized = |path| KernelPath { path, size: 64, ..KernelPath::default() }.program();
    assert!(sized(Path::Write).is_ok() && sized(Path::TcpRound).is_ok());
    assert!(sized(Path::Fork).unwrap_err().to_string().contains("size = 64"));
}

#[test]
fn a_queue_of_unix_messages_fits_into_its_sockets() {
    let queue = |size| KernelPath { path: Path::UnixQueue, loops: 3, size };
    let books = balanced(queue(192).program().unwrap());
    assert_eq!(books.samples.len(), 3);
    assert_eq!(books.traffic.values().map(|(sent, _)| sent).sum::<u64>(), 3 * 1000 * 192);
    assert!(queue(193).program().unwrap_err().to_string().contains("size = 193"));
}

/// The timed part and the rest of a message are series of their own, and all bytes that are sent arrive.
#[test]
fn parts_of_messages_are_timed_alone() {
    for (path, messages) in [
        (Path::PipeWrite, 1),
        (Path::PipeAppend, 2),
        (Path::PipeTake, 2),
        (Path::PipeWake, 1),
        (Path::UnixSend, 1),
    ] {
        let books = balanced(KernelPath { path, loops: 30, size: 9 }.program().unwrap());
        assert_eq!(books.samples.len(), 60, "{path:?}: each operation and the rest");
        let sent: u64 = books.traffic.values().map(|(sent, _)| sent).sum();
        assert_eq!(sent, 30 * messages * 9, "{path:?}");
    }
}

#[test]
fn every_kernel_path_times_each_operation() {
    let rounds = [
        Path::PipeRound,
        Path::UnixRound,
        Path::TcpRound,
        Path::UdpRound,
        Path::RemoteRound,
        Path::RemoteUnix,
        Path::RemoteTcp,
        Path::RemoteUdp,
        Path::ForkRound,
        Path::FutexRound,
    ];
    let messages = [Path::Pipe, Path::Unix, Path::Tcp, Path::Udp];
    let alone = [
        Path::None,
        Path::Yield,
        Path::Write,
        Path::PageFault,
        Path::Fork,
        Path::Clone,
        Path::Exit,
        Path::Exec,
    ];
    let others = [Path::YieldRound, Path::Wakeup, Path::Sleep, Path::Vmstat];
    for path in [rounds.as_slice(), &messages, &alone, &others].concat() {
        let sends = if rounds[..9].contains(&path) { 2 } else { u64::from(messages.contains(&path)) };
        let size = if sends > 0 { 9 } else { KernelPath::default().size };
        let books = balanced(KernelPath { path, loops: 30, size }.program().unwrap());
        assert_eq!(books.samples.len(), 30, "{path:?}");
        assert_eq!(books.execs, if path == Path::Exec { 30 } else { 0 });
        let sent: u64 = books.traffic.values().map(|(sent, _)| sent).sum();
        let each = sends * size;
        assert_eq!(sent, 30 * each, "{path:?}");
    }
}

#[test]
fn equal_programs_with_equal_seeds_end_at_the_same_time() {
    let once = || run(Kernbench { seed: 3, ..Kernbench::default() }.program().unwrap()).end_ns;
    assert_eq!(once(), once());
    let other = run(Kernbench { seed: 4, ..Kernbench::default() }.program().unwrap()).end_ns;
    assert_ne!(once(), other);
}

#[test]
fn every_program_is_unchanged_by_a_json_round_trip() {
    for workload in workloads() {
        let program = workload.prepare(Map::new(), 4).unwrap().program;
        let json = serde_json::to_string(&program).unwrap();
        assert_eq!(serde_json::from_str::<Program>(&json).unwrap(), program);
    }
}

#[test]
fn every_workload_is_documented_and_has_defaults_within_its_ranges() {
    for workload in workloads() {
        assert!(!workload.summary.is_empty() && !workload.summary.ends_with('.'), "{}", workload.name);
        let metrics = &workload.metrics;
        assert!(metrics.iter().any(|metric| metric.judged), "{} judges nothing", workload.name);
        for parameter in &workload.parameters {
            let place = format!("{} {}", workload.name, parameter.name);
            assert!(!parameter.summary.is_empty(), "{place}");
            let optional = ["stream bytes", "stream buffer_beyond"].contains(&place.as_str());
            assert!(parameter.default.is_some() || optional || parameter.name == "beside", "{place}");
        }
        let prepared = workload.prepare(Map::new(), 4).unwrap();
        assert!(prepared.seconds > 0.0);
        let reported = prepared.program.metrics.iter().map(|metric| metric.name.as_str());
        assert!(reported.into_iter().all(|name| metrics.iter().any(|metric| metric.name == name)));
    }
}

#[test]
fn invalid_values_are_refused_with_name_and_range() {
    let refused = |workload: &str, key: &str, value: Value| {
        let definition = workloads().into_iter().find(|each| each.name == workload).unwrap();
        let parameters = Map::from_iter([(key.to_owned(), value)]);
        definition.prepare(parameters, 1).map(drop).unwrap_err().to_string()
    };
    assert_eq!(refused("hackbench", "fds", json!(0)), "fds = 0: must be from 1 to 10000");
    assert_eq!(refused("wakeup", "duration", json!(5)), "duration = 5ns: must be from 1ms to 86400s");
    assert!(refused("rr", "sizes", json!(5)).contains("no such parameter: protocol, request"));
    assert!(refused("hackbench", "ipc", json!("smoke")).contains("unknown variant `smoke`"));
}

#[test]
fn jobs_depend_on_the_cpus_unless_set() {
    let kernbench = workloads().into_iter().find(|each| each.command == "kernbench").unwrap();
    let jobs = |parameters: Value, cpus| {
        let parameters = parameters.as_object().cloned().unwrap();
        kernbench.prepare(parameters, cpus).unwrap().parameters["jobs"].as_u64()
    };
    assert_eq!(jobs(json!({ "jobs_per_cpu": 3 }), 16), Some(48));
    assert_eq!(jobs(json!({ "jobs": 5 }), 16), Some(5));
}

#[test]
fn arguments_contain_every_parameter_in_effect() {
    let find = |name: &str| workloads().into_iter().find(|each| each.name == name).unwrap();
    let arguments = |name: &str, parameters: Value| {
        let definition = find(name);
        let prepared = definition.prepare(parameters.as_object().cloned().unwrap(), 2).unwrap();
        definition.arguments(&prepared.parameters).join(" ")
    };
    assert_eq!(
        arguments("hackbench", json!({ "ipc": "pipe", "fifo": true, "size": 7 })),
        "hackbench --groups=10 --fds=20 --loops=100 --datasize=7 --ipc=pipe --mode=process --fifo \
         --main-mappings=0 --main-pages=0 --written-pages=0"
    );
    assert_eq!(
        arguments("stream", json!({ "bytes": 1000 })),
        "stream --protocol=tcp --size=16384 --pairs=1 --bytes=1000"
    );
    let kernbench = arguments("kernbench-native", json!({}));
    assert!(
        kernbench.starts_with("kernbench --jobs=4 ") && kernbench.contains("--compile-time=8ms"),
        "{kernbench}"
    );
}

/// Names of the commands in the bodies of a program, enclosing commands first.
fn commands(program: &Program) -> Vec<&str> {
    let images = program.groups.iter().flat_map(|group| &group.body).flat_map(Op::all);
    images
        .filter_map(|op| match op {
            Op::Exec { image: Image::Command { argv, .. } } => Some(argv[0].as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn the_model_of_a_script_starts_every_command_of_its_pipelines() {
    let program = Scripts::default().program().unwrap();
    let names = commands(&program);
    for script in ["sh ls sort wc", "sh cp sort cmp rm", "sh grep grep head", "sh mkdir cp cat rm", "sh expr"]
    {
        let words: Vec<&str> = script.split(' ').collect();
        assert!(names.windows(words.len()).any(|part| part == words), "{script}: {names:?}");
    }
    let piped = program.groups[0].body.iter().flat_map(Op::all);
    assert_eq!(piped.filter(|op| matches!(op, Op::Receive { .. })).count(), 2 + 1 + 3);
}

#[test]
fn an_executor_of_real_commands_sees_no_models() {
    let program = Scripts::default().program().unwrap().without_models();
    assert_eq!(commands(&program), ["sh"; 6]);
    assert!(Plan::new(program).unwrap().channel_ends(TaskId::default()).is_empty());
}
