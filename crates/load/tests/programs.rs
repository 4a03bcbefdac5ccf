//! Output of workloads and of programs from files.

mod support;

use serde_json::Value;
use support::{Family, Scratch, json, metric, output, stderr, success};

#[test]
fn hackbench_prints_the_lines_of_the_known_tool() {
    for (options, mode) in [
        (&["-P"][..], "process"),
        (&["-p"], "process"),
        (&["-T"], "threaded"),
        (&["-T", "-p"], "threaded"),
        (&["-i"], "process"),
    ] {
        let mut command =
            Family::new().schedload(&["hackbench", "-g", "2", "-f", "3", "-l", "4", "-s", "50"]);
        let text = success(command.args(options));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            format!("Running in {mode} mode with 2 groups using 6 file descriptors each (== 12 tasks)")
        );
        assert_eq!(lines[1], "Each sender will pass 4 messages of 50 bytes");
        let seconds = lines[2].strip_prefix("Time: ").expect("a time");
        assert_eq!(seconds.split('.').nth(1).map(str::len), Some(3), "{seconds}");
        assert_eq!(lines.len(), 3);
    }
}

#[test]
fn a_json_document_carries_parameters_metrics_and_counters() {
    let document = json(&mut Family::new().schedload(&["hackbench", "--json", "-g", "1", "-f", "2", "-T"]));
    assert_eq!(document["schema"], 1);
    assert_eq!(document["program"], "hackbench");
    assert_eq!(document["parameters"]["groups"], 1);
    assert_eq!(document["parameters"]["mode"], "thread");
    let metric = &document["metrics"][0];
    assert_eq!((&metric["name"], &metric["unit"]), (&Value::from("time"), &Value::from("s")));
    assert_eq!(metric["direction"], "lower");
    assert!(metric["value"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert_eq!(document["counters"]["tasks"], 4);
    assert!(document["counters"]["voluntary_switches"].is_u64());
}

#[test]
fn pipetest_records_every_round_trip() {
    for options in [&[][..], &["--threads"]] {
        let mut command = Family::new().schedload(&["--json", "pipetest", "--loops", "500"]);
        let document = json(command.args(options));
        let latency = metric(&document, "latency");
        let samples = latency["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), 500);
        let sum: f64 = samples.iter().filter_map(Value::as_f64).sum();
        let mean = latency["value"].as_f64().expect("a mean");
        assert!((sum / 500.0 - mean).abs() < 1e-6 * mean);
        let per_op = metric(&document, "usecs-per-op")["value"].as_f64().expect("a time per operation");
        assert!(per_op >= mean, "the run lasts at least as long as its operations: {per_op} < {mean}");
        assert_eq!(document["counters"]["operations"], 500);
    }
}

#[test]
fn pipetest_prints_a_distribution() {
    let text = success(&mut Family::new().schedload(&["pipetest", "--loops", "200"]));
    for point in ["min", "1st quartile", "median", "3rd quartile", "90 %", "95 %", "99 %", "max", "mean"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(point)), "{point} in {text}");
    }
}

#[test]
fn the_output_of_show_can_be_run() {
    let scratch = Scratch::new();
    let family = Family::new();
    let text = success(&mut family.schedload(&["show", "hackbench", "-g", "1", "-f", "2", "-l", "3"]));
    let file = scratch.file("program.json", &text);
    let document = json(&mut family.schedload(&["run", "--json", &file]));
    assert_eq!(document["program"], "hackbench");
    assert_eq!(document["counters"]["tasks"], 4);
}

/// A server and its child wait for a session each at the same time. A message comes in two parts.
#[test]
fn messages_are_received_after_poll_and_epoll() {
    const HALF: u64 = 35_000;
    let scratch = Scratch::new();
    let wire = |index: u64| serde_json::json!({ "name": "wire", "index": index });
    let send = |index, direction: &str| serde_json::json!({ "send": { "channel": wire(index), "bytes": HALF, "direction": direction } });
    let receive = |index, direction: &str, take: &str, counter: &str| serde_json::json!({ "receive": { "channel": wire(index), "bytes": 2 * HALF, "direction": direction, "take": take, "counter": counter } });
    let sleep = || serde_json::json!({ "sleep": { "ns": 500_000 } });
    let repeat =
        |body: Vec<Value>| serde_json::json!({ "loop": { "repeat": { "count": 20 }, "body": body } });
    let in_parts = |index, direction| [send(index, direction), sleep(), send(index, direction)];
    let serve = |index| {
        let request = receive(index, "forward", "epoll", "requests");
        repeat([vec![request], in_parts(index, "backward").to_vec()].concat())
    };
    let ask = |index| {
        let reply = receive(index, "backward", "poll", "replies");
        repeat([in_parts(index, "forward").to_vec(), vec![reply]].concat())
    };
    for kind in ["unix", "tcp"] {
        for mode in ["process", "thread"] {
            let program = serde_json::json!({
                "schema": 2,
                "name": "polled",
                "resources": { "channels": [{ "name": "wire", "kind": kind, "count": 2 }] },
                "counters": ["requests", "replies"],
                "groups": [
                    { "name": "server", "count": 1, "mode": mode, "body": [
                        { "fork": { "body": [serve(0)] } }, serve(1), { "wait": {} },
                    ] },
                    { "name": "client 0", "count": 1, "mode": mode, "body": [ask(0)] },
                    { "name": "client 1", "count": 1, "mode": mode, "body": [ask(1)] },
                ],
                "metrics": [{ "name": "requests", "unit": "B/s", "direction": "higher", "quantity": { "rate": "requests" } }],
            });
            let family = Family::new();
            let file = scratch.file("polled.json", &program.to_string());
            let document = json(&mut family.schedload(&["run", "--json", &file]));
            for counter in ["requests", "replies"] {
                assert_eq!(document["counters"][counter], 2 * 20 * 2 * HALF, "{kind} {mode} {counter}");
            }
            family.assert_gone();
        }
    }
}

#[test]
fn an_invalid_program_file_is_refused_with_file_name_and_position() {
    let scratch = Scratch::new();
    let family = Family::new();
    let file = scratch.file("bad.json", "{\"schema\": 1,\n \"nam\": \"x\"}");
    let refused = output(&mut family.schedload(&["run", &file]));
    assert_eq!(refused.status.code(), Some(1));
    let text = stderr(&refused);
    assert!(text.contains("bad.json") && text.contains("`nam`") && text.contains("line 2"), "{text}");
    let missing = output(&mut family.schedload(&["run", &scratch.path("missing.json")]));
    assert!(stderr(&missing).contains("No such file"), "{}", stderr(&missing));
}

#[test]
fn parameters_out_of_range_are_a_usage_error() {
    let refused = output(&mut Family::new().schedload(&["hackbench", "-f", "0"]));
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(stderr(&refused), "schedload: fds = 0: must be from 1 to 10000\n");
}

#[test]
fn parameters_have_the_names_of_experiment_files_and_the_options_of_known_tools() {
    let parameters = |arguments: &[&str]| {
        json(
            &mut Family::new()
                .schedload(&[&["--json", "hackbench", "-l", "1", "-g", "1"], arguments].concat()),
        )["parameters"]
            .clone()
    };
    let short = parameters(&["-f", "2", "-s", "50", "-T", "-p"]);
    assert_eq!(short, parameters(&["--fds", "2", "--datasize", "50", "--threads", "--pipe"]));
    assert_eq!(short, parameters(&["--fds=2", "--size=50", "--mode=thread", "--ipc=pipe"]));
    // The last of two options for one parameter counts.
    assert_eq!(short, parameters(&["-f2", "-s50", "-P", "-T", "-i", "-p"]));
    assert_eq!((&short["mode"], &short["ipc"]), (&Value::from("thread"), &Value::from("pipe")));
}

#[test]
fn parameters_that_exclude_each_other_are_a_usage_error() {
    let refused = output(&mut Family::new().schedload(&["stream", "--bytes", "1000", "--duration", "1s"]));
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("cannot be used with '--duration"), "{}", stderr(&refused));
}

#[test]
fn list_names_every_program_with_parameters_and_metrics() {
    let document = json(&mut Family::new().schedload(&["list", "--json"]));
    let programs = document["programs"].as_array().expect("programs");
    let hackbench = programs.iter().find(|program| program["name"] == "hackbench").expect("hackbench");
    let parameters = hackbench["parameters"].as_array().expect("parameters");
    let groups = parameters.iter().find(|parameter| parameter["option"] == "--groups").expect("--groups");
    assert_eq!(groups["default"], "10");
    let carrier = parameters.iter().find(|parameter| parameter["option"] == "--ipc").expect("--ipc");
    assert_eq!(carrier["default"], "socket");
    assert_eq!(hackbench["metrics"][0]["unit"], "s");
}

/// A program with every kind of step.
const EVERYTHING: &str = r#"{
  "schema": 1, "name": "everything", "replicas": 2, "seed": 9,
  "resources": {
    "channels": [{"name": "tcp", "kind": "tcp", "no_delay": true}, {"name": "udp", "kind": "udp"}],
    "locks": [{"name": "lock", "scope": "program"}],
    "semaphores": [{"name": "turn", "initial": 0}],
    "barriers": [{"name": "meeting", "parties": 2}],
    "regions": [{"name": "own", "bytes": 100000, "scope": "task"}, {"name": "common", "bytes": 5000, "scope": "program"}],
    "slots": [{"name": "when"}]
  },
  "counters": ["replies", "datagrams", "sections"], "series": ["wake_up", "life"],
  "groups": [
    {"name": "client", "count": 1, "mode": "MODE", "body": [
      {"loop": {"repeat": {"count": 10}, "body": [
        {"send": {"channel": "tcp", "bytes": {"add": [1, {"loop": 0}]}}},
        {"receive": {"channel": "tcp", "bytes": 300, "direction": "backward"}}
      ]}},
      {"count": {"counter": "replies", "by": 10}},
      {"send": {"channel": "udp", "bytes": 64}},
      {"compute": {"ns": 10000}},
      {"touch": {"region": "own", "bytes": 200000, "write": true}},
      {"touch": {"region": "common", "bytes": 5000, "pattern": "random"}},
      {"touch": {"region": "own", "bytes": 200000, "pattern": "chase"}},
      {"touch": {"region": "common", "bytes": 5000, "pattern": "chase", "write": true}},
      {"barrier": {"barrier": "meeting"}},
      {"stamp": {"slot": "when"}}, {"up": {"semaphore": "turn"}},
      {"fork": {"body": [{"exec": {"image": {"work": {"ns": 1000, "bytes": 10000}}}}]}},
      {"fork": {"body": [{"exec": {"image": {"command": {"argv": ["true"], "model_ns": 1000}}}}]}},
      {"wait": {"count": 1}}, {"wait": {}}
    ]},
    {"name": "server", "count": 1, "mode": "MODE", "body": [
      {"loop": {"repeat": "until_closed", "body": [
        {"receive": {"channel": "udp", "bytes": 100}}, {"count": {"counter": "datagrams"}}
      ]}}
    ]},
    {"name": "replier", "count": 1, "mode": "MODE", "body": [
      {"loop": {"repeat": {"count": 10}, "body": [
        {"receive": {"channel": "tcp", "bytes": {"add": [1, {"loop": 0}]}}},
        {"send": {"channel": "tcp", "bytes": 300, "direction": "backward"}}
      ]}},
      {"barrier": {"barrier": "meeting"}},
      {"down": {"semaphore": "turn"}}, {"record": {"slot": "when", "series": "wake_up"}},
      {"loop": {"repeat": {"count": 100}, "body": [
        {"lock": {"lock": "lock"}}, "yield", {"count": {"counter": "sections"}}, {"unlock": {"lock": "lock"}}
      ]}},
      {"choose": {"branches": [{"weight": 1, "body": [{"sleep": {"ns": 1000}}]}]}},
      {"lap": {"slot": "when", "series": "life"}}
    ]}
  ],
  "metrics": [{"name": "wake_up", "unit": "us", "direction": "lower", "quantity": {"mean": "wake_up"}, "factor": 0.001}]
}"#;

#[test]
fn every_kind_of_step_is_performed_by_processes_and_threads() {
    let scratch = Scratch::new();
    for mode in ["process", "thread"] {
        let file = scratch.file("everything.json", &EVERYTHING.replace("MODE", mode));
        let document = json(&mut Family::new().schedload(&["run", "--json", &file]));
        let counters = &document["counters"];
        assert_eq!(
            (&counters["replies"], &counters["sections"]),
            (&Value::from(20), &Value::from(200)),
            "{mode}"
        );
        assert_eq!(counters["datagrams"], 2, "{mode}");
        assert!(counters["rounds_per_us"].as_f64().is_some_and(|rate| rate > 0.0));
        assert_eq!(document["metrics"][0]["samples"].as_array().map(Vec::len), Some(2));
    }
}
