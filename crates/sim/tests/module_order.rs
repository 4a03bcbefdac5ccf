//! The modules of the simulator form the order that `src/lib.rs` states.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// Files that use later modules than the file's module, the used modules, and the reason. Rows that are not needed fail
/// the test.
const EXCEPTIONS: &[(&[&str], &[&str], &str)] = &[
    (
        &["sched/core.rs", "sched/deadline/class.rs", "sched/switch.rs"],
        &["balance", "engine", "observe", "tasks"],
        "a wake-up or switch chooses a CPU, costs time, and changes the state of tasks",
    ),
    (
        &["vmstat/workers.rs"],
        &["balance", "engine", "observe", "tasks"],
        "the workers are tasks that wake up, run and sleep",
    ),
    (
        &["schedstats/events.rs"],
        &["balance", "engine", "observe", "tasks"],
        "an update of statistics costs its CPU time, and depends on the state of the task",
    ),
    (
        &["schedstats/balance.rs"],
        &["balance", "engine", "observe"],
        "an update of statistics costs its CPU time",
    ),
    (
        &["schedstats/mod.rs"],
        &["balance", "engine", "observe"],
        "an update of statistics costs CPU time and fetches lines",
    ),
    (
        &["schedstats/report.rs"],
        &["balance", "observe"],
        "the report has the spans of domains, and the tasks",
    ),
    (
        &["physics/mod.rs", "physics/lines.rs"],
        &["balance", "engine"],
        "the speed of a CPU depends on the tasks that run on its neighbours",
    ),
    (
        &[
            "balance/deadline.rs",
            "balance/detach_tasks.rs",
            "balance/find_busiest.rs",
            "balance/find_busiest_by_load.rs",
            "balance/find_idlest.rs",
            "balance/groups.rs",
            "balance/load_balance.rs",
            "balance/mod.rs",
            "balance/newidle_balance.rs",
            "balance/realtime.rs",
            "balance/o1/load_balance.rs",
            "balance/o1/mod.rs",
            "balance/o1/nodes.rs",
            "balance/rebalance_domains.rs",
            "balance/select_task_rq.rs",
        ],
        &["engine"],
        "balancing reads the queues of all CPUs, moves tasks, and costs time",
    ),
    (
        &["numa/fault.rs", "numa/find_cpu.rs", "numa/place.rs", "numa/scan.rs"],
        &["engine"],
        "scans and faults cost time, and placement moves tasks",
    ),
    (
        &[
            "tasks/acknowledge.rs",
            "tasks/attributes.rs",
            "tasks/exec.rs",
            "tasks/birth.rs",
            "tasks/family.rs",
            "tasks/fetch.rs",
            "tasks/gate.rs",
            "tasks/mutex.rs",
            "tasks/perform.rs",
            "tasks/place.rs",
            "tasks/receive.rs",
            "tasks/records.rs",
            "tasks/send.rs",
            "tasks/sync.rs",
            "tasks/waiters.rs",
        ],
        &["engine"],
        "an operation of a task costs time, and wakes and blocks tasks",
    ),
];

/// The `.rs` files of a folder and its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Modules in the order of the second list of `lib.rs`.
fn order(text: &str) -> Vec<&str> {
    let list = text.split("//! ```text").nth(2).unwrap().split("//! ```").next().unwrap();
    list.lines().filter_map(|line| line.strip_prefix("//! ")?.split(' ').next()).collect()
}

/// Collect the modules of the crate that the paths of a file name: `crate::a`, `crate::{a, b::c}`, and `super::a` where
/// the file is `depth` modules below the crate.
fn collect_modules(stream: TokenStream, depth: usize, modules: &mut Vec<String>) {
    // Number of modules that the present path climbs.
    let mut climbed = 0;
    for token in stream {
        match token {
            TokenTree::Ident(name) if name == "crate" => climbed = depth,
            TokenTree::Ident(name) if name == "super" => climbed += 1,
            TokenTree::Ident(name) => {
                if std::mem::take(&mut climbed) == depth {
                    modules.push(name.to_string());
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            TokenTree::Punct(_) | TokenTree::Literal(_) => climbed = 0,
            TokenTree::Group(group) => {
                if std::mem::take(&mut climbed) == depth {
                    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                    let paths = tokens.split(|token| token.to_string() == ",");
                    modules.extend(paths.filter_map(|path| path.first()).map(ToString::to_string));
                }
                collect_modules(group.stream(), depth, modules);
            }
        }
    }
}

fn modules_of(code: &str, depth: usize) -> Vec<String> {
    let mut modules = Vec::new();
    collect_modules(code.parse().expect("Rust tokens"), depth, &mut modules);
    modules
}

#[test]
fn every_form_of_path_names_its_module() {
    let code = "use crate::{sched::{Cfs, O1}, time}; use super::super::numa::Numa; pub(crate) fn f(c: crate::table::Table) {
        let x: u8 = super::sibling(); debug_assert!(crate::tasks::g(), crate::vmstat::h()); }";
    assert_eq!(modules_of(code, 2), ["sched", "time", "numa", "table", "tasks", "vmstat"]);
}

#[test]
fn modules_use_only_modules_before_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = std::fs::read_to_string(folder.join("lib.rs")).unwrap();
    let order = order(&text);
    let place = |module: &str| {
        order
            .iter()
            .position(|other| *other == module)
            .unwrap_or_else(|| panic!("the list of lib.rs has no {module}"))
    };
    let mut wrong = Vec::new();
    for path in sources(&folder) {
        let file = path.strip_prefix(&folder).unwrap();
        let parts: Vec<&str> = file.iter().map(|part| part.to_str().unwrap()).collect();
        let module = parts[0].trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let depth = parts.len() - usize::from(parts.ends_with(&["mod.rs"]));
        let mut later: Vec<String> = modules_of(&std::fs::read_to_string(&path).unwrap(), depth);
        later.retain(|used| place(used) > place(module));
        later.sort();
        later.dedup();
        let file = file.to_str().unwrap().to_owned();
        let mut excepted: Vec<&str> = EXCEPTIONS
            .iter()
            .filter(|(files, ..)| files.contains(&file.as_str()))
            .flat_map(|(_, modules, _)| modules.iter().copied())
            .collect();
        excepted.sort_unstable();
        if later != excepted {
            wrong.push(format!("{file}: uses the later modules {later:?}; EXCEPTIONS has {excepted:?}"));
        }
    }
    let missing =
        EXCEPTIONS.iter().flat_map(|(files, ..)| files.iter()).filter(|file| !folder.join(file).exists());
    wrong.extend(missing.map(|file| format!("{file} of EXCEPTIONS does not exist")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
