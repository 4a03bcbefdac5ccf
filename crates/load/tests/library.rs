//! Every workload of the library runs on this machine's kernel and reports the metrics that `list` names.

mod support;

use serde_json::Value;
use support::{Family, Scratch, json, metric, output, start, stderr};

/// Small sizes of every program. Time-based programs record 60 ms.
const SMALL: [&[&str]; 54] = [
    &["hackbench", "-g", "2", "-f", "3", "-l", "5"],
    &["hackbench", "-g", "1", "--main-mappings", "9", "--main-pages", "40", "--written-pages", "25"],
    &["pipetest", "--loops", "100"],
    &["stream", "--warmup", "10ms", "--duration", "60ms"],
    &["stream", "--size", "64", "--pairs", "2", "--no-delay", "--warmup", "10ms", "--duration", "60ms"],
    &["stream", "--protocol", "udp", "--warmup", "10ms", "--duration", "60ms"],
    &["stream", "--size", "1024", "--buffer-beyond", "256", "--warmup", "10ms", "--duration", "60ms"],
    &["stream", "--protocol", "udp", "--buffer-beyond", "0", "--warmup", "10ms", "--duration", "60ms"],
    &["stream", "--bytes", "1000000"],
    &["rr", "--warmup", "10ms", "--duration", "60ms"],
    &["rr", "--request", "100", "--reply", "9000", "--pairs", "3", "--warmup", "10ms", "--duration", "60ms"],
    &["rr", "--protocol", "udp", "--warmup", "10ms", "--duration", "60ms"],
    &["tbench", "--warmup", "10ms", "--duration", "60ms"],
    &["tbench", "--clients", "3", "--warmup", "10ms", "--duration", "60ms"],
    &["pgbench", "--warmup", "10ms", "--duration", "60ms"],
    &["pgbench", "--mode", "rw", "--clients", "4", "--scale", "1", "--warmup", "10ms", "--duration", "60ms"],
    &["pgbench", "--mode", "rw", "--flush-time", "100us", "--warmup", "10ms", "--duration", "60ms"],
    &["kernbench", "--directories", "2", "--files", "3", "--compile-time", "1ms", "--memory", "100"],
    &["kernbench", "-j", "1", "--directories", "2", "--files", "2", "--compile-time", "1ms"],
    &["scripts", "--streams", "2", "--scripts", "3"],
    &["schedbench", "--processes", "2", "--memory", "4", "--walks", "40"],
    &["schedbench", "--walks", "40", "--disturbance", "1", "--disturbance-after", "1ms"],
    &["wakeup", "--warmup", "10ms", "--duration", "60ms"],
    &[
        "wakeup",
        "-P",
        "-m",
        "2",
        "-w",
        "3",
        "--request-time",
        "10us",
        "--warmup",
        "10ms",
        "--duration",
        "60ms",
    ],
    &["cyclic", "--warmup", "10ms", "--duration", "60ms"],
    &["cyclic", "-t", "3", "-i", "200us", "-d", "0us", "--warmup", "10ms", "--duration", "60ms"],
    &["yield", "--warmup", "10ms", "--duration", "60ms"],
    &["yield", "--threads", "--warmup", "10ms", "--duration", "60ms"],
    &["futex", "--warmup", "10ms", "--duration", "60ms"],
    &["futex", "--process", "--pairs", "3", "--warmup", "10ms", "--duration", "60ms"],
    &["forkstorm", "--warmup", "10ms", "--duration", "60ms"],
    &["forkstorm", "--exec", "--warmup", "10ms", "--duration", "600ms"],
    &["busyloop", "--threshold", "100ns", "--warmup", "10ms", "--duration", "60ms"],
    &["kernel-path", "--path", "none", "--loops", "20"],
    &["kernel-path", "--path", "yield", "--loops", "20"],
    &["kernel-path", "--path", "write", "--loops", "20"],
    &["kernel-path", "--path", "udp", "--loops", "20"],
    &["kernel-path", "--path", "fork-pages", "--loops", "20"],
    &["kernel-path", "--path", "fork-mappings", "--loops", "20"],
    &["kernel-path", "--path", "unix-queue", "--loops", "3", "--size", "192"],
    &["kernel-path", "--path", "pipe-append", "--loops", "20"],
    &["kernel-path", "--path", "pipe-take", "--loops", "20"],
    &["kernel-path", "--path", "pipe-wake", "--loops", "20"],
    &["kernel-path", "--path", "unix-send", "--loops", "20"],
    &["kernel-path", "--path", "tcp-round", "--loops", "20"],
    &["kernel-path", "--path", "futex-round", "--loops", "20"],
    &["kernel-path", "--path", "page-fault", "--loops", "20"],
    &["kernel-path", "--path", "yield-round", "--loops", "20"],
    &["kernel-path", "--path", "wakeup", "--loops", "20"],
    &["kernel-path", "--path", "clone", "--loops", "20"],
    &["kernel-path", "--path", "exit", "--loops", "20"],
    &["kernel-path", "--path", "exec", "--loops", "20"],
    &["kernel-path", "--path", "tick", "--loops", "20"],
    &["kernel-path", "--path", "sleep", "--loops", "20"],
];

/// Loads of processes and of threads; the last workload consists of threads.
#[test]
fn a_load_ends_with_its_workload() {
    for (arguments, load) in [
        (&["pipetest", "--loops", "100"][..], "hackbench groups=1 fds=2"),
        (&["yield", "--warmup", "0s", "--duration", "60ms"], "futex pairs=2"),
        (&["hackbench", "-g", "2", "-f", "2", "-l", "5"], "scripts streams=1"),
        (&["wakeup", "--warmup", "0s", "--duration", "60ms"], "stream pairs=2"),
    ] {
        let family = Family::new();
        let document = json(&mut family.schedload(&[arguments, &["--beside", load, "--json"]].concat()));
        assert_eq!(document["parameters"]["beside"], load);
        assert!(document["metrics"].as_array().expect("metrics").iter().all(well_formed), "{document}");
        family.assert_gone();
    }
}

/// The measured task waits for ever, so that only the failure of the load ends the run.
#[test]
fn a_load_that_fails_fails_the_run() {
    for (main, load) in
        [("process", "process"), ("process", "thread"), ("thread", "process"), ("thread", "thread")]
    {
        let program = serde_json::json!({
            "schema": 2,
            "name": "test",
            "resources": { "semaphores": [{ "name": "never", "scope": "program" }] },
            "groups": [
                { "name": "main", "count": 1, "mode": main, "body": [{ "down": { "semaphore": "never" } }] },
                {
                    "name": "load", "count": 1, "mode": load, "background": true,
                    // No machine has this CPU.
                    "body": [{ "set": { "attributes": { "cpus": [4000] } } }],
                },
            ],
            "metrics": [{ "name": "time", "unit": "s", "direction": "lower", "quantity": "elapsed" }],
        });
        let family = Family::new();
        let scratch = Scratch::new();
        let file = scratch.path("program.json");
        std::fs::write(&file, program.to_string()).unwrap();
        let output = output(&mut family.schedload(&["run", &file]));
        assert_eq!(output.status.code(), Some(1), "{main} beside {load}");
        assert!(stderr(&output).contains("load 0"), "{main} beside {load}: {}", stderr(&output));
        family.assert_gone();
    }
}

#[test]
fn every_program_runs_and_reports_the_listed_metrics() {
    let list = json(&mut Family::new().schedload(&["list", "--json"]));
    let programs = list["programs"].as_array().expect("programs");
    for arguments in SMALL {
        let family = Family::new();
        // On a busy machine a short window may record no events, so the workload is repeated with longer windows.
        let document = (0..20_u32)
            .map(|attempt| {
                let window = format!("{}ms", 60 << attempt.min(6));
                let words = arguments.iter().map(|&word| if word == "60ms" { window.as_str() } else { word });
                json(family.schedload(&["--json"]).args(words))
            })
            .find(|document| document["metrics"][0]["value"].as_f64().is_some_and(|value| value > 0.0));
        let document = document.unwrap_or_else(|| panic!("{arguments:?} never records anything"));
        assert_eq!(document["program"], arguments[0]);
        let metrics = document["metrics"].as_array().expect("metrics");
        assert!(metrics.iter().all(well_formed), "{arguments:?}: {document}");
        let listed =
            programs.iter().find(|program| program["name"] == arguments[0]).expect("a listed program");
        let names =
            |metrics: &[Value]| metrics.iter().map(|metric| metric["name"].clone()).collect::<Vec<_>>();
        let mut expected = names(listed["metrics"].as_array().expect("metrics"));
        if arguments[0] == "stream" && !arguments.contains(&"udp") {
            expected.retain(|name| name != "sent");
        }
        assert_eq!(names(metrics), expected, "{arguments:?}");
        family.assert_gone();
    }
    for program in programs {
        let name = program["name"].as_str().expect("a name");
        assert!(SMALL.iter().any(|arguments| arguments[0] == name), "{name} has no run in this test");
        assert!(!program["about"].as_str().expect("a description").is_empty());
    }
}

fn well_formed(metric: &Value) -> bool {
    let text = |key: &str| metric[key].as_str().is_some_and(|text| !text.is_empty());
    let direction = metric["direction"] == "lower" || metric["direction"] == "higher";
    let number = metric["value"].is_number() || metric["value"].is_null();
    text("name") && text("unit") && direction && number
}

#[test]
fn udp_reports_sent_and_received() {
    let arguments = ["--json", "stream", "--protocol", "udp", "-s", "1000", "--bytes", "100000"];
    let document = json(&mut Family::new().schedload(&arguments));
    assert!(metric(&document, "received")["value"].is_number());
    assert!(metric(&document, "sent")["value"].as_f64().is_some_and(|rate| rate > 0.0));
    assert_eq!(document["counters"]["sent"], 100_000);
    assert!(document["counters"]["received"].as_u64().is_some_and(|bytes| bytes <= 100_000));
}

#[test]
fn all_bytes_sent_over_tcp_are_received() {
    let arguments = ["--json", "stream", "-s", "777", "--bytes", "1000000", "--pairs", "2"];
    let counters = json(&mut Family::new().schedload(&arguments))["counters"].clone();
    // Each pair sends complete messages.
    assert_eq!(counters["sent"], 1_000_000_u64.div_ceil(777) * 777 * 2);
    assert_eq!(counters["received"], counters["sent"]);
}

#[test]
fn the_option_samples_limits_the_kept_samples() {
    let arguments = ["--json", "--samples", "500", "pipetest", "--loops", "5000"];
    let document = json(&mut Family::new().schedload(&arguments));
    let samples = metric(&document, "latency")["samples"].as_array().expect("samples").len();
    assert!((200..=500).contains(&samples), "{samples}");
    assert!(document["counters"]["round_trip_samples_one_in"].as_u64().is_some_and(|one_in| one_in >= 8));
}

#[test]
fn a_fixed_speed_of_computation_is_used_and_reported() {
    let arguments = [
        "--json",
        "--rounds-per-us",
        "10",
        "kernbench",
        "--directories",
        "1",
        "--files",
        "1",
        "--memory",
        "0",
    ];
    let document = json(&mut Family::new().schedload(&arguments));
    assert_eq!(document["counters"]["rounds_per_us"], 10.0);
}

#[test]
fn scripts_leave_no_files_behind() {
    let scratch = Scratch::new();
    let folders = || {
        let names = std::fs::read_dir("/dev/shm").into_iter().chain(std::fs::read_dir(std::env::temp_dir()));
        let names = names.flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("schedload-scripts-")).collect::<Vec<_>>()
    };
    let family = Family::new();
    let run = start(&mut family.schedload(&["scripts", "--streams", "1", "--scripts", "2"]));
    let folder = format!("schedload-scripts-{}", run.id());
    assert!(run.wait_with_output().expect("an end").status.success());
    assert!(!folders().contains(&folder));
    let mut missing = family.schedload(&["scripts"]);
    let refused = output(missing.env("PATH", &scratch.0));
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("not in PATH: sh, cat"), "{}", stderr(&refused));
}

#[test]
fn the_program_in_the_manual_runs() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schedload.md");
    let manual = std::fs::read_to_string(manual).expect("the manual");
    let program = manual.split("```").find(|block| block.contains("\"ping-pong\"")).expect("the program");
    let scratch = Scratch::new();
    let file = scratch.file("program.json", program.trim_start_matches("json"));
    let document = json(&mut Family::new().schedload(&["run", "--json", &file]));
    assert!(document["metrics"][0]["value"].as_f64().is_some_and(|rate| rate > 0.0), "{document}");
}
