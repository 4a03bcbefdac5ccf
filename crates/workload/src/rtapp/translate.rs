//! Translation of a document into a program.
//!
//! Thread objects become groups of threads; phases and loops become loops. A duration becomes an additional thread that
//! sleeps for that time and then ends the run, as rt-app's main thread does.

mod body;
mod names;

use super::document::{Document, Kind, Task};
use super::error::RtAppError;
use super::measures::{Measures, PERIOD_SLOT, RUN_SLOT, has};
use crate::check;
use crate::program::{
    Barrier, Condition, File, Mode, Op, Program, Resources, Scope, group, locks, region, semaphores, slots,
};
use names::Names;

/// A program made from an rt-app document.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The program, which has passed [`crate::check`].
    pub program: Program,
    /// Requests of the document that have no effect, a sentence for each request.
    pub notes: Vec<String>,
}

/// Make and check the program.
pub fn program(name: &str, document: &Document) -> Result<Reading, RtAppError> {
    started(document)?;
    ends(document)?;
    let mut names = Names::of(document)?;
    let mut measures = Measures::of(document);
    let mut groups = Vec::new();
    for task in document.tasks.iter().filter(|task| task.instances > 0) {
        let body = body::of_task(document, task, &mut names, &mut measures)?;
        groups.push(group(&task.name, task.instances, Mode::Thread, body));
    }
    if let Some(ns) = document.global.duration_ns {
        let body = vec![Op::Sleep { ns: ns.into() }, Op::Finish];
        groups.push(group(&free_name(document, "duration"), 1, Mode::Thread, body));
    }
    let mut notes = document.global.notes.clone();
    notes.extend(measures.note());
    notes.append(&mut names.notes);
    let program = Program {
        resources: resources(document, names),
        counters: measures.counters.iter().cloned().collect(),
        series: measures.series.iter().cloned().collect(),
        metrics: measures.metrics(document),
        groups,
        ..Program::named(name)
    };
    check::program(&program)?;
    Ok(Reading { program, notes })
}

/// An unused name for a thread object.
fn free_name(document: &Document, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while document.tasks.iter().any(|task| task.name == name) {
        name.push('_');
    }
    name
}

fn started(document: &Document) -> Result<(), RtAppError> {
    if document.tasks.iter().any(|task| task.instances > 0) {
        return Ok(());
    }
    let reason = "there is no thread to start".to_owned();
    Err(RtAppError::Content { place: document.place, path: "tasks".to_owned(), reason })
}

/// Refuse a run without end.
fn ends(document: &Document) -> Result<(), RtAppError> {
    let endless =
        |task: &&Task| task.loops.is_none() || task.phases.iter().any(|phase| phase.loops.is_none());
    match document.tasks.iter().find(endless) {
        Some(task) if document.global.duration_ns.is_none() => Err(RtAppError::Content {
            place: task.place,
            path: format!("tasks.{}", task.name),
            reason: "runs without end, and there is no `duration` in `global` to end the thread".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn resources(document: &Document, names: Names) -> Resources {
    let shared = Scope::Program;
    let condition = |name: &String| Condition { name: name.clone(), count: 1, scope: shared };
    let barrier = |(name, parties): (&String, &u32)| Barrier {
        name: name.clone(),
        count: 1,
        scope: shared,
        parties: *parties,
    };
    let writes = document.tasks.iter().any(|task| has(task, |kind| matches!(kind, Kind::IoRun(_))));
    let path = document.global.io_device.clone();
    let device = File { name: body::DEVICE.to_owned(), count: 1, scope: shared, path };
    Resources {
        locks: names.locks.iter().map(|name| locks(name, 1, shared)).collect(),
        conditions: names.conditions.iter().map(condition).collect(),
        semaphores: names.semaphores.iter().map(|name| semaphores(name, 1, shared, 0)).collect(),
        barriers: names.barriers.iter().map(barrier).collect(),
        timers: names.timers.iter().cloned().collect(),
        files: if writes { vec![device] } else { Vec::new() },
        slots: vec![slots(RUN_SLOT, 1, Scope::Task), slots(PERIOD_SLOT, 1, Scope::Task)],
        regions: names.regions.iter().map(|(name, (bytes, scope))| region(name, *bytes, *scope)).collect(),
        ..Resources::default()
    }
}
