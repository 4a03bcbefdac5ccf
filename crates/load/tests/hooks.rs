//! `schedload agent`: the undo of a hook after every end of the agent.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value as Json, json};
use support::{Family, Scratch, children, eventually, kill};

/// An agent with journals and a log in a folder of the test.
struct Agent<'t> {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    folder: &'t Scratch,
    family: &'t Family,
    last: u64,
}

impl<'t> Agent<'t> {
    fn start(folder: &'t Scratch, family: &'t Family) -> Self {
        let (journals, root) = (folder.path("journals"), folder.path("root"));
        let mut command = family.schedload(&["agent", "--journals", &journals, "--root", &root]);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
        let (input, output) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        Self { process, input, output: BufReader::new(output), folder, family, last: 0 }
    }

    fn send(&mut self, op: &str, fields: Json) {
        self.last += 1;
        let mut body = fields;
        body["id"] = json!(self.last);
        body["op"] = json!(op);
        writeln!(self.input, "{body}").expect("the agent reads");
    }

    fn ask(&mut self, op: &str, fields: Json) -> Json {
        self.send(op, fields);
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the agent answers");
        let reply: Json = serde_json::from_str(&line).expect("a reply");
        assert!(reply["error"].is_null(), "{reply}");
        reply["ok"].clone()
    }

    fn begin(&mut self) {
        self.ask("begin", json!({ "run": "run", "lease": 0, "alone": false }));
    }

    /// Record the undo of a hook.
    fn record(&mut self, what: &str, undo: &str, limit_ms: u64) {
        self.ask("made", hook(what, undo, limit_ms));
    }

    /// Begin to run a command of a hook.
    fn step(&mut self, script: &str) {
        let argv = ["--keep-strays", "--timeout=60s", "--", "sh", "-c", script];
        self.send("run", json!({ "argv": argv, "hook": true, "limit": 75, "largest_output": 1 << 20 }));
    }

    fn reply(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the agent answers");
        serde_json::from_str::<Json>(&line).expect("a reply")["ok"].clone()
    }

    fn recover(&mut self) -> Vec<String> {
        texts(&self.ask("recover", json!({})))
    }

    fn end(mut self) -> Vec<String> {
        let outcomes = texts(&self.ask("end", json!({})));
        self.process.wait().expect("the agent ends");
        outcomes
    }

    /// Kill processes of the agent at once, and wait for the end of the agent.
    fn kill(mut self, victims: Victims) {
        let keeper = self.process.id();
        let mut pids = match victims {
            Victims::Keeper => Vec::new(),
            _ => children(keeper),
        };
        if victims != Victims::Worker {
            pids.push(keeper as i32);
        }
        for signal in ["STOP", "KILL"] {
            pids.iter().for_each(|pid| kill(*pid, signal));
        }
        self.process.wait().expect("the agent ends");
        let alone = |pid: &i32| !fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().is_empty();
        if victims != Victims::Both {
            eventually("the other process of the agent has ended", || {
                self.family.members().iter().filter(|pid| alone(pid)).count() == 0
            });
        }
        drop(self.input);
    }

    fn log(&self) -> String {
        self.folder.log()
    }
}

/// Processes to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victims {
    Worker,
    Keeper,
    Both,
}

impl Scratch {
    /// A command that sleeps, which only processes of this test contain: commands of hooks have no mark of the family.
    fn sleep(&self) -> String {
        let digits: String = self.path("").chars().filter(char::is_ascii_digit).collect();
        format!("sleep 1000.{digits}")
    }

    /// The processes that [`Scratch::sleep`] has started.
    fn sleeping(&self) -> Vec<i32> {
        let words = self.sleep().replace(' ', "\0");
        let is_asleep = |pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(&words))
        };
        let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_asleep).collect()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn journals(&self) -> usize {
        let entries = fs::read_dir(self.path("journals")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|suffix| suffix == "journal")).count()
    }
}

fn hook(what: &str, undo: &str, limit_ms: u64) -> Json {
    json!({ "what": what, "name": "v", "undo": { "command": undo, "limit_ms": limit_ms } })
}

fn texts(outcomes: &Json) -> Vec<String> {
    let list = outcomes["outcomes"].as_array().expect("outcomes");
    list.iter().map(|outcome| outcome["text"].as_str().expect("a text").to_owned()).collect()
}

/// A file in place of a kernel's file, which contains 5, and a change of the file to 7.
fn tunable(folder: &Scratch) -> Json {
    let path = folder.file("value", "5\n");
    let value = |text: &str| json!({ "write": text, "shown": [text] });
    json!([{ "name": "value", "path": path, "form": "whole", "steady": true, "original": value("5"), "new": value("7") }])
}

#[test]
fn a_hook_of_a_variant_is_undone_above_the_tunables_and_a_hook_of_the_run_below() {
    let (folder, family) = (Scratch::new(), Family::new());
    let (wanted, log) = (tunable(&folder), folder.path("log"));
    let undo = |name: &str| format!("echo {name} $(cat {}) >>{log}", folder.path("value"));
    let mut agent = Agent::start(&folder, &family);
    agent.begin();
    agent.record("run hook", &undo("run"), 60_000);
    agent.ask("put", json!({ "wanted": wanted }));
    agent.record("variant hook", &undo("variant"), 60_000);
    let [first, _, last] = agent.end().try_into().expect("three outcomes");
    assert_eq!([first.as_str(), &last], ["variant hook v undone", "run hook v undone"]);
    assert_eq!(folder.log(), "variant 7\nrun 5\n");
    assert_eq!(folder.journals(), 0);
}

#[test]
fn a_hook_that_was_undone_is_not_undone_again() {
    let (folder, family) = (Scratch::new(), Family::new());
    let undo = format!("echo undo >>{}", folder.path("log"));
    let mut agent = Agent::start(&folder, &family);
    agent.begin();
    agent.record("variant hook", &undo, 60_000);
    agent.ask("gone", hook("variant hook", &undo, 60_000));
    assert_eq!(agent.end(), Vec::<String>::new());
    assert_eq!(folder.log(), "");
}

#[test]
fn the_undo_follows_an_apply_that_a_kill_interrupts_or_precedes() {
    for victims in [Victims::Worker, Victims::Keeper, Victims::Both] {
        for is_applied in [false, true] {
            let (folder, family) = (Scratch::new(), Family::new());
            let log = folder.path("log");
            let mut agent = Agent::start(&folder, &family);
            agent.begin();
            agent.record("variant hook", &format!("echo undo >>{log}"), 60_000);
            if is_applied {
                // After a stop signal, the command writes on until the launcher kills it.
                let script = format!("trap '' TERM; while :; do echo apply >>{log}; sleep 0.01; done");
                agent.step(&script);
                eventually("apply has begun", || agent.log().contains("apply"));
            }
            agent.kill(victims);
            if victims == Victims::Both {
                assert!(!folder.log().contains("undo"));
                let mut next = Agent::start(&folder, &family);
                assert_eq!(next.recover(), ["variant hook v undone"]);
                next.end();
            }
            assert_eq!(folder.log().matches("undo").count(), 1, "{victims:?} {is_applied}");
            assert!(folder.log().ends_with("undo\n"), "apply goes on after undo: {victims:?}");
            assert_eq!(folder.journals(), 0);
        }
    }
}

#[test]
fn an_undo_that_a_kill_interrupts_is_repeated() {
    let (folder, family) = (Scratch::new(), Family::new());
    let (log, ready, sleep) = (folder.path("log"), folder.path("ready"), folder.sleep());
    let mut agent = Agent::start(&folder, &family);
    agent.begin();
    agent.record("variant hook", &format!("echo undo >>{log}; [ -e {ready} ] || {sleep}"), 600_000);
    agent.send("end", json!({}));
    eventually("the undo has begun", || agent.log().contains("undo"));
    folder.file("ready", "");
    agent.kill(Victims::Both);
    let mut next = Agent::start(&folder, &family);
    assert_eq!(next.recover(), ["variant hook v undone"]);
    next.end();
    assert_eq!(folder.log(), "undo\nundo\n");
    assert!(folder.sleeping().is_empty());
}

#[test]
fn an_undo_that_fails_keeps_the_journal_and_its_output_is_reported() {
    let (folder, family) = (Scratch::new(), Family::new());
    let ready = folder.path("ready");
    let mut agent = Agent::start(&folder, &family);
    agent.begin();
    agent.record("variant hook", &format!("[ -e {ready} ] || {{ echo no; echo way >&2; exit 3; }}"), 60_000);
    let [left] = agent.end().try_into().expect("one outcome");
    assert!(left.starts_with("variant hook v could not be undone: "), "{left}");
    assert!(left.ends_with("ended with 3: no\nway"), "{left}");
    assert_eq!(folder.journals(), 1);
    folder.file("ready", "");
    let mut next = Agent::start(&folder, &family);
    assert_eq!(next.recover(), ["variant hook v undone"]);
    assert_eq!(folder.journals(), 0);
    next.end();
}

#[test]
fn an_undo_that_exceeds_its_limit_is_killed_with_all_its_processes() {
    let (folder, family) = (Scratch::new(), Family::new());
    let sleep = folder.sleep();
    let mut agent = Agent::start(&folder, &family);
    agent.begin();
    agent.record("variant hook", &format!("{sleep} & setsid {sleep} & ({sleep} &); wait"), 1000);
    let [left] = agent.end().try_into().expect("one outcome");
    assert!(left.contains("did not end within 1s"), "{left}");
    assert_eq!(folder.journals(), 1);
    assert!(folder.sleeping().is_empty());
}

#[test]
fn a_command_of_a_hook_gets_the_path_alone_and_its_daemons_continue() {
    let (folder, family) = (Scratch::new(), Family::new());
    let mut agent = Agent::start(&folder, &family);
    agent.begin();
    agent.step(&format!("env; setsid {} &", folder.sleep()));
    let reply = agent.reply();
    agent.end();
    eventually("the daemon runs", || folder.sleeping().len() == 1);
    folder.sleeping().iter().for_each(|pid| kill(*pid, "KILL"));
    let names =
        reply["stdout"].as_str().expect("text").lines().filter_map(|line| Some(line.split_once('=')?.0));
    assert!(names.into_iter().all(|name| ["PATH", "PWD", "SHLVL", "_", "OLDPWD"].contains(&name)), "{reply}");
}
