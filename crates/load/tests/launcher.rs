//! `schedload exec`: streams and exit status, attributes, servers, and the end of all processes.

mod support;

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::{Family, SCHEDLOAD, Scratch, children, eventually, kill, output, start, stderr, success};

/// Return the command `schedload exec OPTIONS -- sh -c SCRIPT`.
fn launch(family: &Family, options: &[&str], script: &str) -> Command {
    let mut command = family.schedload(&["exec"]);
    command.args(options).args(["--", "sh", "-c", script]);
    command
}

/// Run a script with a report; return exit status and report.
fn reported(family: &Family, options: &[&str], script: &str) -> (Option<i32>, Value) {
    let scratch = Scratch::new();
    let report = scratch.path("report.json");
    let mut all = vec!["--report", &report];
    all.extend(options);
    let status = output(&mut launch(family, &all, script)).status.code();
    let text = std::fs::read_to_string(&report).expect("a report");
    (status, serde_json::from_str(&text).expect("one JSON document"))
}

/// Return a port that was free at the time of the call.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// A script with descendants of every kind: in its session, in another session, and an orphan.
const SLEEPING_TREE: &str = "sleep 1000 & setsid sleep 1000 & (sleep 1000 &) ; echo up; wait";

#[test]
fn the_commands_exit_status_is_the_launchers() {
    let family = Family::new();
    for (script, status) in [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        let (code, report) = reported(&family, &[], script);
        assert_eq!(code, Some(status), "{script}");
        assert_eq!(report["exit_code"].as_i64(), Some(i64::from(status)).filter(|status| *status < 128));
        assert_eq!(report["signal"].as_i64(), Some(i64::from(status) - 128).filter(|signal| *signal > 0));
    }
}

#[test]
fn processes_that_a_command_leaves_behind_are_kept_unless_the_command_exceeds_its_time() {
    let family = Family::new();
    let script = "sleep 1000 & setsid sleep 1000 & (sleep 1000 &) ; [ $0 = ends ] || sleep 1000";
    let kept = |timeout: &str, word: &str| {
        let mut command =
            family.schedload(&["exec", "--keep-strays", timeout, "--", "sh", "-c", script, word]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        (command.status().expect("the program starts").code(), family.members().len())
    };
    assert_eq!(kept("--timeout=60s", "ends"), (Some(0), 3));
    family.members().into_iter().for_each(|pid| kill(pid, "KILL"));
    family.assert_gone();
    assert_eq!(kept("--timeout=100ms", "waits"), (Some(124), 0));
}

#[test]
fn failures_before_the_command_have_their_own_exit_status() {
    let family = Family::new();
    let status = |arguments: &[&str]| output(family.schedload(&["exec"]).args(arguments)).status.code();
    assert_eq!(status(&["--", "no-such-command"]), Some(127));
    assert_eq!(status(&["--", "/etc/passwd"]), Some(126));
    assert_eq!(status(&["--report", "/no/such/folder/x", "--", "true"]), Some(125));
    assert_eq!(status(&["--report", "77", "--", "true"]), Some(125));
    assert_eq!(status(&["--priority", "4", "--", "true"]), Some(125));
    assert_eq!(status(&["--slice", "1s", "--", "true"]), Some(125));
    assert_eq!(status(&["--nonsense", "--", "true"]), Some(125));
}

#[test]
fn standard_streams_are_passed_unchanged() {
    let family = Family::new();
    let scratch = Scratch::new();
    let input = scratch.file("input", "over\n");
    let mut command = launch(&family, &["--report", "/dev/null"], "cat; echo aside >&2");
    let output = output(command.stdin(std::fs::File::open(input).unwrap()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "over\n");
    assert_eq!(stderr(&output), "aside\n");
}

#[test]
fn a_repeated_command_is_timed_for_each_run_until_a_run_fails() {
    let family = Family::new();
    let scratch = Scratch::new();
    let (count, log) = (scratch.path("count"), scratch.path("report.json"));
    let script = format!("echo run >> {count}; test $(wc -l < {count}) -lt 3");
    for (repeat, runs, code) in [("2", 2, 0), ("5", 1, 1)] {
        let options = ["--repeat", repeat, "--report", &log];
        assert_eq!(output(&mut launch(&family, &options, &script)).status.code(), Some(code));
        let report: Value = serde_json::from_str(&fs::read_to_string(&log).unwrap()).unwrap();
        let each: Vec<u64> = report["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["elapsed_ns"].as_u64().unwrap())
            .collect();
        assert_eq!(each.len(), runs);
        assert!(each.iter().sum::<u64>() <= report["elapsed_ns"].as_u64().unwrap());
    }
    let (_, report) = reported(&family, &[], "true");
    assert_eq!(report["runs"], Value::Null);
}

#[test]
fn a_report_goes_to_a_descriptor_that_the_command_does_not_inherit() {
    let family = Family::new();
    let script = format!("{SCHEDLOAD} exec --report 7 -- sh -c 'ls /proc/self/fd; exit 5' 7>&1 | tail -n 1");
    let text = success(family.command("sh").args(["-c", &script]));
    let report: Value = serde_json::from_str(&text).expect("a JSON document");
    assert_eq!(report["exit_code"], 5);
    let script = format!("{SCHEDLOAD} exec --report 7 -- sh -c 'ls /proc/self/fd' 7>/dev/null");
    assert!(!success(family.command("sh").args(["-c", &script])).lines().any(|line| line == "7"));
}

#[test]
fn without_a_report_a_line_goes_to_standard_error() {
    let output = output(&mut launch(&Family::new(), &[], "true"));
    assert!(stderr(&output).contains("s elapsed, "), "{}", stderr(&output));
}

#[test]
fn attributes_are_in_effect_and_reported() {
    let family = Family::new();
    let cpu = first_cpu();
    let (_, report) = reported(&family, &["--policy", "batch", "--nice", "7", "--cpus", &cpu], "true");
    let attributes = &report["attributes"];
    assert_eq!((&attributes["policy"], &attributes["nice"]), (&Value::from("batch"), &Value::from(7)));
    assert_eq!(attributes["cpus"], serde_json::json!([cpu.parse::<u64>().unwrap()]));
    let (_, report) = reported(&family, &["--policy", "idle"], "true");
    assert_eq!(report["attributes"]["policy"], "idle");
    let script = "grep Cpus_allowed_list /proc/self/status; ps -o ni= -p $$";
    let text = success(&mut launch(&family, &["--nice", "4", "--cpus", &cpu], script));
    assert!(text.contains(&format!("Cpus_allowed_list:\t{cpu}")), "{text}");
    assert_eq!(text.lines().last().map(str::trim), Some("4"));
}

/// Return the first CPU that this process may use.
fn first_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap();
    list.chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn a_slice_is_in_effect_or_refused_with_the_kernel_that_supports_it() {
    let scratch = Scratch::new();
    let path = scratch.path("report.json");
    let output = output(&mut launch(&Family::new(), &["--report", &path, "--slice", "0.1ms"], "true"));
    if output.status.success() {
        let report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(report["attributes"]["slice_ns"], 100_000);
    } else {
        assert!(stderr(&output).contains("Linux 6.12"), "{}", stderr(&output));
    }
}

/// Return the attributes that are in effect with these options, or the message with which the kernel refuses them.
fn in_effect_or_refused(options: &[&str]) -> Result<Value, String> {
    let scratch = Scratch::new();
    let path = scratch.path("report.json");
    let mut all = vec!["--report", &path];
    all.extend(options);
    let output = output(&mut launch(&Family::new(), &all, "true"));
    if output.status.success() {
        let report: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        Ok(report["attributes"].clone())
    } else {
        assert_eq!(output.status.code(), Some(125));
        Err(stderr(&output))
    }
}

const DEADLINE: [&str; 6] = ["--policy", "deadline", "--runtime", "1ms", "--period", "10ms"];

#[test]
fn a_deadline_is_in_effect_or_refused_with_the_reason() {
    match in_effect_or_refused(&DEADLINE) {
        Ok(attributes) => {
            assert_eq!(attributes["policy"], "deadline");
            assert_eq!(attributes["deadline_ns"], serde_json::json!([1_000_000, 10_000_000, 10_000_000]));
            assert_eq!(attributes["slice_ns"], Value::Null);
        }
        Err(text) => assert!(text.contains("the kernel refuses policy deadline, runtime 1ms"), "{text}"),
    }
}

#[test]
fn every_task_of_a_native_workload_gets_the_deadline_of_its_run() {
    let scratch = Scratch::new();
    let (program, report, policies) =
        (scratch.path("program.json"), scratch.path("report.json"), scratch.path("policies"));
    // Field 41 of proc_pid_stat(5) is the policy; SCHED_DEADLINE is 6.
    let note = format!("cut -d' ' -f41 /proc/$$/stat >>{policies}");
    let exec =
        serde_json::json!({"exec": {"image": {"command": {"argv": ["sh", "-c", note], "model_ns": 1000}}}});
    let body = serde_json::json!([{"fork": {"body": [exec.clone()]}}, {"wait": {}}, exec]);
    let group = serde_json::json!({"name": "tasks", "count": 2, "mode": "process", "body": body});
    let metric = r#"{"name": "time", "unit": "ns", "direction": "lower", "quantity": "elapsed"}"#;
    let text = format!(r#"{{"schema": 1, "name": "policies", "groups": [{group}], "metrics": [{metric}]}}"#);
    std::fs::write(&program, text).unwrap();
    let family = Family::new();
    let mut command = family.schedload(&["exec", "--report", &report]);
    let output = output(command.args(DEADLINE).args(["--", SCHEDLOAD, "run", &program]));
    if output.status.success() {
        assert_eq!(std::fs::read_to_string(policies).unwrap(), "6\n6\n6\n6\n");
    } else {
        assert!(stderr(&output).contains("policy deadline, runtime 1ms"), "{}", stderr(&output));
    }
}

#[test]
fn the_cpu_time_of_children_is_reported_apart_from_the_commands() {
    let family = Family::new();
    let spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let (_, alone) = reported(&family, &[], spin);
    let (_, parent) = reported(&family, &[], &format!("({spin}); true"));
    if alone["others_us"].is_null() {
        return; // a kernel without CONFIG_SCHED_INFO
    }
    assert_eq!(alone["others_us"], 0);
    assert!(parent["others_us"].as_u64().unwrap() > 0);
}

#[test]
fn utilisation_clamps_are_in_effect_or_refused_with_the_option_of_the_kernel() {
    match in_effect_or_refused(&["--uclamp-min", "25%", "--uclamp-max", "50%"]) {
        Ok(attributes) => assert_eq!(attributes["uclamp"], serde_json::json!([256, 512])),
        Err(text) => assert!(text.contains("CONFIG_UCLAMP_TASK"), "{text}"),
    }
}

#[test]
fn the_timer_slack_is_in_effect_for_the_commands_children_too() {
    let attributes = in_effect_or_refused(&["--timer-slack", "7us"]).unwrap();
    assert_eq!(attributes["timer_slack_ns"], 7000);
    let script = "(cat /proc/self/timerslack_ns)";
    let output = output(&mut launch(&Family::new(), &["--timer-slack", "7us"], script));
    if output.status.success() {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "7000\n");
    } else {
        assert!(stderr(&output).contains("timerslack_ns"), "{}", stderr(&output)); // a kernel without the file
    }
}

#[test]
fn memory_policies_are_in_effect_or_refused_with_the_reason() {
    for (policy, shown) in [("bind:all", "bind:"), ("interleave:all", "interleave:"), ("local", "local")] {
        match in_effect_or_refused(&["--mempolicy", policy]) {
            Ok(attributes) => assert!(attributes["mempolicy"].as_str().unwrap().starts_with(shown)),
            Err(text) => assert!(text.contains("memory policy: "), "{text}"),
        }
    }
    let text = in_effect_or_refused(&["--mempolicy", "preferred:8000"]).unwrap_err();
    assert!(text.contains("memory policy: "), "{text}");
}

#[test]
fn attributes_that_cannot_be_combined_are_refused() {
    let budget = |runtime, deadline, period| {
        format!("--policy deadline --runtime {runtime} --deadline {deadline} --period {period}")
    };
    for (options, words) in [
        ("--policy deadline --runtime 1ms".to_owned(), "needs --runtime and --period"),
        (budget("3ms", "2ms", "4ms"), "runtime ≤ deadline ≤ period"),
        (budget("1ms", "5ms", "4ms"), "runtime ≤ deadline ≤ period"),
        (budget("1us", "1ms", "1ms"), "1.024µs ≤ runtime"),
        (budget("1ms", "2ms", "4ms") + " --nice 1", "--nice has no effect"),
        (budget("1ms", "2ms", "4ms") + " --slice 1ms", "no other policy has slices"),
        (budget("1ms", "2ms", "4ms") + " --timer-slack 1us", "--timer-slack has no effect"),
        (budget("1ms", "2ms", "4ms") + " --uclamp-min 1%", "no effect under --policy deadline"),
        ("--policy fifo --timer-slack 1us".to_owned(), "--timer-slack has no effect"),
        ("--runtime 1ms".to_owned(), "need --policy deadline"),
        ("--timer-slack 0ns".to_owned(), "out of range: 1ns to 2s"),
        ("--uclamp-min 80% --uclamp-max 20%".to_owned(), "--uclamp-min is above --uclamp-max"),
        ("--uclamp-min 20".to_owned(), "write a percentage"),
        ("--uclamp-max 101%".to_owned(), "write a percentage"),
        ("--mempolicy bind".to_owned(), "is not a memory policy"),
        ("--mempolicy local:0".to_owned(), "is not a memory policy"),
        ("--mempolicy preferred:0-1".to_owned(), "is not a memory policy"),
        ("--mempolicy interleave:x".to_owned(), "is not a memory policy"),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        let output = output(&mut launch(&Family::new(), &options, "true"));
        assert!(
            !output.status.success() && stderr(&output).contains(words),
            "{options:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_cpu_that_is_not_online_is_named() {
    let output = output(&mut launch(&Family::new(), &["--cpus", "1023"], "true"));
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("CPU 1023 is not online (online: 0"), "{}", stderr(&output));
}

#[test]
fn a_time_limit_kills_the_whole_tree() {
    let family = Family::new();
    let (status, report) = reported(&family, &["--timeout", "200ms"], SLEEPING_TREE);
    assert_eq!(status, Some(124));
    assert_eq!((&report["timed_out"], &report["signal"]), (&Value::from(true), &Value::from(9)));
    family.assert_gone();
}

#[test]
fn strays_are_killed_and_counted() {
    let family = Family::new();
    let (status, report) = reported(&family, &[], "sleep 1000 & (setsid sleep 1000 &); exit 0");
    assert_eq!(status, Some(0));
    assert_eq!(report["strays_killed"], 2);
    family.assert_gone();
    let (_, report) = reported(&family, &[], "true");
    assert_eq!(report["strays_killed"], 0);
}

#[test]
fn stop_signals_reach_the_command_and_end_everything() {
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let family = Family::new();
        let mut run = start(&mut launch(&family, &[], SLEEPING_TREE));
        eventually("the tree is up", || family.members().len() >= 6);
        kill(run.id() as i32, signal);
        assert_eq!(run.wait().unwrap().code(), Some(128 + number));
        family.assert_gone();
    }
}

#[test]
fn a_command_can_clean_up_after_a_stop_signal_within_a_time_limit() {
    for (time, takes, expected) in [("100s", "0.1", "goodbye"), ("10ms", "1000", "")] {
        let family = Family::new();
        let scratch = Scratch::new();
        let (up, message) = (scratch.path("up"), scratch.path("message"));
        let leave = format!("sleep {takes}; echo goodbye >{message}; exit 0");
        let script = format!("trap '{leave}' INT; touch {up}; while :; do sleep 0.05; done");
        let mut run = start(&mut launch(&family, &["--last-words", time], &script));
        eventually("the command is up", || fs::exists(&up).unwrap());
        kill(run.id() as i32, "INT");
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert_eq!(fs::read_to_string(&message).unwrap_or_default().trim(), expected);
        family.assert_gone();
    }
}

#[test]
fn no_process_survives_a_sigkill_of_launcher_supervisor_or_command() {
    // Depth 0 is the launcher, depth 1 its supervisor, depth 2 the command.
    for depth in 0..3 {
        let family = Family::new();
        let mut run = start(&mut launch(&family, &[], SLEEPING_TREE));
        eventually("the tree is up", || family.members().len() >= 6);
        let mut victim = run.id() as i32;
        for _ in 0..depth {
            victim = children(victim as u32)[0];
        }
        kill(victim, "KILL");
        run.wait().unwrap();
        family.assert_gone();
    }
}

#[test]
fn no_process_survives_the_starter_of_the_launcher() {
    let family = Family::new();
    let script = format!("{SCHEDLOAD} exec -- sh -c '{SLEEPING_TREE}'; echo never");
    let mut starter = start(family.command("sh").args(["-c", &script]));
    eventually("the tree is up", || family.members().len() >= 7);
    starter.kill().unwrap();
    starter.wait().unwrap();
    family.assert_gone();
}

#[test]
fn no_process_survives_a_starter_that_is_killed_at_any_moment_of_the_start() {
    for quarter_milliseconds in 0..40 {
        let family = Family::new();
        let script = format!("{SCHEDLOAD} exec --parent $$ -- sh -c '{SLEEPING_TREE}'; echo never");
        let mut starter = start(family.command("sh").args(["-c", &script]));
        std::thread::sleep(Duration::from_micros(250 * quarter_milliseconds));
        starter.kill().unwrap();
        starter.wait().unwrap();
        family.assert_gone();
    }
}

#[test]
fn a_starter_that_is_killed_before_the_exec_of_its_launcher_starts_nothing() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let (waiting, proceed, started) =
        (scratch.path("waiting"), scratch.path("proceed"), scratch.path("started"));
    let launch = format!("exec {SCHEDLOAD} exec --parent $$ -- sh -c 'echo >{started}; sleep 1000'");
    let script = format!(
        "(echo >{waiting}; until test -e {proceed}; do sleep 0.01; done; {launch}) & echo up; wait; echo never"
    );
    let mut starter = start(family.command("sh").args(["-c", &script]));
    eventually("the launcher's process exists", || fs::exists(&waiting).unwrap());
    starter.kill().unwrap();
    starter.wait().unwrap();
    scratch.file("proceed", "");
    eventually("the launcher has ended", || fs::exists(&started).unwrap() || family.members().is_empty());
    assert!(!fs::exists(&started).unwrap());
}

#[test]
fn a_launcher_whose_starter_has_ended_starts_nothing() {
    let output = output(&mut launch(&Family::new(), &["--parent", "1"], "echo started"));
    if std::process::id() != 1 {
        assert_eq!(output.status.code(), Some(125));
        assert!(output.stdout.is_empty());
    }
}

/// Return the command of a server for the tests. Python is available because schedlab needs it.
fn server(port: u16) -> String {
    format!("exec python3 -m http.server {port} --bind 127.0.0.1")
}

#[test]
fn a_server_is_ready_before_the_command_and_gone_after_it() {
    let family = Family::new();
    let (port, marker) = (free_port(), Scratch::new());
    let (ready, command) = (format!("tcp:{port}"), server(port));
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected > {}", marker.path("done"));
    let mut run =
        family.schedload(&["exec", "--server", &command, "--ready", &ready, "--", "bash", "-c", &script]);
    assert_eq!(output(&mut run).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(marker.path("done")).unwrap(), "connected\n");
    family.assert_gone();
}

#[test]
fn servers_are_gone_after_a_kill_as_well() {
    let family = Family::new();
    let port = free_port();
    let options = ["--server", &server(port), "--ready", &format!("tcp:{port}")];
    let mut run = start(&mut launch(&family, &options, "echo up; sleep 1000"));
    eventually("server and command are up", || family.members().len() >= 4 && has_member(&family, "sleep"));
    run.kill().unwrap();
    run.wait().unwrap();
    family.assert_gone();
}

fn has_member(family: &Family, name: &str) -> bool {
    let comm = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    family.members().iter().any(|pid| comm(pid).trim() == name)
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let family = Family::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = ["--server", "sleep 1000", "--ready", &format!("tcp:{port}")];
    let output = output(&mut launch(&family, &options, "echo started"));
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains(&format!("TCP port {port} is already in use")), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    family.assert_gone();
}

#[test]
fn a_socket_in_use_is_an_error_that_names_it() {
    let scratch = Scratch::new();
    let path = scratch.path("socket");
    let _taken = UnixListener::bind(&path).unwrap();
    let options = ["--server", "sleep 1000", "--ready", &format!("unix:{path}")];
    let output = output(&mut launch(&Family::new(), &options, "true"));
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains(&format!("socket {path} is already in use")), "{}", stderr(&output));
}

#[test]
fn a_server_that_ends_too_early_is_reported_with_its_output() {
    let family = Family::new();
    let options = ["--server", "echo no configuration >&2; exit 4", "--ready", "exec:false"];
    let output = output(&mut launch(&family, &options, "echo started"));
    assert_eq!(output.status.code(), Some(125));
    let text = stderr(&output);
    assert!(text.contains("ended before the server was ready: exit status 4"), "{text}");
    assert!(text.contains("no configuration"), "{text}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_server_that_is_never_ready_is_stopped_after_the_timeout() {
    let family = Family::new();
    let options = ["--server", "sleep 1000", "--ready", "exec:false", "--ready-timeout", "200ms"];
    let output = output(&mut launch(&family, &options, "true"));
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("not ready after 200ms"), "{}", stderr(&output));
    family.assert_gone();
}

#[test]
fn a_server_that_dies_during_the_run_fails_it() {
    let family = Family::new();
    let scratch = Scratch::new();
    let (up, down) = (scratch.path("up"), scratch.path("down"));
    let command = format!("touch {up}; until test -e {down}; do sleep 0.01; done; kill -9 $$");
    let options = ["--server", &command, "--ready", &format!("exec:test -e {up}")];
    let output = output(&mut launch(&family, &options, &format!("touch {down}; sleep 1")));
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("ended during the command: killed by SIGKILL"), "{}", stderr(&output));
}

#[test]
fn a_server_that_ignores_its_stop_signal_is_killed() {
    let family = Family::new();
    let scratch = Scratch::new();
    let up = scratch.path("up");
    let command = format!("trap '' TERM; touch {up}; while :; do sleep 0.05; done");
    let options = ["--server", &command, "--ready", &format!("exec:test -e {up}"), "--grace", "100ms"];
    assert!(output(&mut launch(&family, &options, "true")).status.success());
    family.assert_gone();
}

#[test]
fn resources_of_reaped_descendants_are_counted() {
    let script = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exit 0";
    let (_, report) = reported(&Family::new(), &[], script);
    assert!(report["user_us"].as_u64().is_some_and(|us| us > 10_000), "{report}");
    assert!(report["max_rss_kib"].as_u64().is_some_and(|kib| kib > 100), "{report}");
    assert!(report["elapsed_ns"].as_u64().is_some_and(|ns| ns > 10_000_000), "{report}");
}

#[test]
fn a_server_without_a_readiness_check_is_a_usage_error() {
    let output = output(&mut launch(&Family::new(), &["--server", "x"], "true"));
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("each server needs a --ready"), "{}", stderr(&output));
}

#[test]
fn the_output_of_a_server_does_not_mix_with_the_commands() {
    let family = Family::new();
    let options = [
        "--server",
        "echo noise; echo noise >&2; sleep 1000",
        "--ready",
        "exec:true",
        "--report",
        "/dev/null",
    ];
    let mut run = launch(&family, &options, "echo signal");
    let output = run.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "signal\n");
    assert_eq!(stderr(&output), "");
}

/// The option that runs a script as a load beside the command.
fn beside(script: &str) -> String {
    format!("--beside=exec \"$0\" exec \"$1\" -- sh -c '{script}'")
}

#[test]
fn a_load_runs_before_the_command_starts_again_and_ends_with_the_command() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let file = scratch.path("starts");
    // The first load ends at once, the second sleeps until the launcher ends.
    let load = beside(&format!("echo >>{file}; [ $(wc -l <{file}) = 1 ] || exec sleep 1000"));
    let script = format!("until [ $(wc -l <{file}) = 2 ]; do sleep 0.01; done");
    assert!(output(&mut launch(&family, &[&load], &script)).status.success());
    family.assert_gone();
}

#[test]
fn a_load_that_fails_fails_the_launch_with_its_output() {
    let family = Family::new();
    for script in ["echo why >&2; exit 3", "sleep 0.1; echo why >&2; exit 3"] {
        let result = output(&mut launch(&family, &[&beside(script)], "exec sleep 1000"));
        assert_eq!(result.status.code(), Some(125));
        assert!(stderr(&result).contains("exit status 3. The load wrote:\nwhy"), "{}", stderr(&result));
    }
    family.assert_gone();
}

#[test]
fn timed_writes_are_made_in_order_and_reported_and_a_failed_write_fails_the_launch() {
    let (family, scratch) = (Family::new(), Scratch::new());
    let file = scratch.path("value");
    fs::write(&file, "").unwrap();
    let options = [format!("--at=20ms={file}=second"), format!("--at=10ms={file}=first ")];
    let (code, report) = reported(
        &family,
        &[&options[0], &options[1]],
        &format!("until grep -q second {file}; do sleep 0.01; done"),
    );
    assert_eq!(code, Some(0));
    let texts: Vec<_> =
        report["timed"].as_array().unwrap().iter().map(|write| write["text"].clone()).collect();
    assert_eq!(texts, ["first ", "second"]);
    assert!(report["timed"][1]["after_ns"].as_u64() >= Some(20_000_000));
    let wrong = format!("--at=1ms={}=5", scratch.path("absent"));
    let result = output(&mut launch(&family, &[&wrong], "exec sleep 1000"));
    assert_eq!(result.status.code(), Some(125));
    assert!(stderr(&result).contains("No such file"), "{}", stderr(&result));
}

#[test]
fn a_command_and_its_servers_enter_their_group_before_they_start() {
    let (family, scratch) = (Family::new(), Scratch::new());
    // A plain file in place of the group's file.
    let procs = scratch.path("cgroup.procs");
    fs::write(&procs, "").unwrap();
    let group = format!("--group={}", procs.trim_end_matches("/cgroup.procs"));
    let (code, _) = reported(&family, &[&group], &format!("test $(cat {procs}) = 0"));
    assert_eq!(code, Some(0));
    let result = output(&mut launch(&family, &["--group=/no/such/group"], "true"));
    assert_eq!(result.status.code(), Some(125));
    assert!(stderr(&result).contains("entering the control group /no/such/group: No such file"));
}
