//! Translation of the JSON workloads of rt-app(1) into programs.
//!
//! ```text
//! text ──► json: values with their places ──► parse: Document ──► translate: Program, checked, and notes
//! ```
//! The grammar follows rt-app's tutorial (doc/tutorial.txt in the sources of rt-app 1.0 and later): JSON with
//! comments and commas before closing brackets; keys of events that may be repeated or carry a suffix (`run`,
//! `run1`); times in microseconds. `docs/rt-app.md` describes the points that the tutorial leaves open.

mod document;
mod error;
mod events;
mod fields;
mod global;
mod json;
mod measures;
mod tasks;
mod translate;

use document::Document;
pub use error::{Place, RtAppError};
use fields::{At, members, once, unknown};
use json::{Node, Value};
pub use translate::Reading;

/// Make a program called `name` from the rt-app document `text`.
///
/// `duration_s`, in seconds, takes the place of the document's `global.duration`. Errors name the place in the text.
pub fn read(name: &str, text: &str, duration_s: Option<u64>) -> Result<Reading, RtAppError> {
    let root = json::parse(text)?;
    let mut document = parse(&root)?;
    if let Some(seconds) = duration_s {
        document.global.duration_ns = Some(seconds.saturating_mul(1_000_000_000));
    }
    translate::program(name, &document)
}

const KEYS: [&str; 3] = ["tasks", "global", "resources"];

/// Types that the old `resources` object could name.
const RESOURCES: [&str; 7] = ["mutex", "wait", "sync", "timer", "sleep", "run", "signal"];

/// Parse a document.
fn parse(root: &Node) -> Result<Document, RtAppError> {
    let at = At::ROOT;
    let (mut global, mut tasks) = (None, None);
    for member in members(root, &at)? {
        let here = at.child(&member.key);
        let slot = match member.key.as_str() {
            "global" => &mut global,
            "tasks" => &mut tasks,
            "resources" => {
                resources(&member.node, &here)?;
                continue;
            }
            _ => return unknown(member, &here, "object", &KEYS),
        };
        once(slot, &member.node, member, &here)?;
    }
    let Some(tasks) = tasks else { return at.fail(root.place, "there is no `tasks` object") };
    let global = global::parse(global, &at.child("global"))?;
    let place = tasks.place;
    let tasks = tasks::parse(tasks, &at.child("tasks"), &global)?;
    Ok(Document { global, tasks, place })
}

/// Check the obsolete `resources` object. An event creates the resources that it names.
fn resources(node: &Node, at: &At<'_>) -> Result<(), RtAppError> {
    let Value::Object(list) = &node.value else { return Ok(()) };
    for resource in list {
        let here = at.child(&resource.key);
        for member in members(&resource.node, &here)? {
            let inner = here.child(&member.key);
            match (member.key.as_str(), &member.node.value) {
                ("type", Value::Text(kind)) if RESOURCES.contains(&kind.as_str()) => {}
                ("type", _) => {
                    return inner
                        .fail(member.node.place, format!("a type is one of {}", RESOURCES.join(", ")));
                }
                _ => return unknown(member, &inner, "property", &["type"]),
            }
        }
    }
    Ok(())
}
