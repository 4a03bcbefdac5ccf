//! Events of a phase.

use super::document::{Access, Event, Kind, MemRun};
use super::error::RtAppError;
use super::fields::{At, integer, members, microseconds, once, text, unknown};
use super::json::{Member, Node, Value};
use crate::program::TimerMode;

/// Names of events. A key denotes the first name that is its prefix, so longer names come before their prefixes.
pub const NAMES: [&str; 21] = [
    "runtime",
    "run",
    "sleep",
    "timer",
    "lock",
    "unlock",
    "wait",
    "signal",
    "sig_and_wait",
    "broad",
    "sync",
    "barrier",
    "suspend",
    "resume",
    "memrun",
    "mem",
    "iorun",
    "fork",
    "yield",
    "sem_post",
    "sem_wait",
];

/// Name of the event that a key denotes.
fn name_of(key: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| key.starts_with(name))
}

/// Whether a key denotes an event.
pub fn is_event(key: &str) -> bool {
    name_of(key).is_some()
}

/// Parse the event of a member whose key [denotes an event](is_event).
pub fn parse(member: &Member, at: &At<'_>) -> Result<Event, RtAppError> {
    let node = &member.node;
    let owned = |node| text(node, at).map(str::to_owned);
    let kind = match name_of(&member.key).unwrap_or_default() {
        "run" => Kind::Run(microseconds(node, at)?),
        "runtime" => Kind::Runtime(microseconds(node, at)?),
        "sleep" => Kind::Sleep(microseconds(node, at)?),
        "mem" => Kind::Mem(integer(node, at, 0, i64::MAX)? as u64),
        "iorun" => Kind::IoRun(integer(node, at, 0, i64::MAX)? as u64),
        "memrun" => Kind::MemRun(memrun(node, at)?),
        "lock" => Kind::Lock(owned(node)?),
        "unlock" => Kind::Unlock(owned(node)?),
        "signal" => Kind::Signal(owned(node)?),
        "broad" => Kind::Broadcast(owned(node)?),
        "wait" => {
            let (condition, mutex) = condition(node, at)?;
            Kind::Wait { condition, mutex }
        }
        "sync" | "sig_and_wait" => {
            let (condition, mutex) = condition(node, at)?;
            Kind::Sync { condition, mutex }
        }
        "barrier" => Kind::Barrier(owned(node)?),
        "timer" => timer(node, at)?,
        "resume" => Kind::Resume(owned(node)?),
        "sem_post" => Kind::SemPost(owned(node)?),
        "sem_wait" => Kind::SemWait(owned(node)?),
        "fork" => Kind::Fork(owned(node)?),
        name @ ("suspend" | "yield") => {
            // Their strings have no meaning and are optional.
            if !matches!(node.value, Value::Text(_) | Value::Null) {
                return at.fail(node.place, format!("a string was expected, not {}", node.value.kind()));
            }
            if name == "yield" { Kind::Yield } else { Kind::Suspend }
        }
        _ => return unknown(member, at, "event", &NAMES),
    };
    Ok(Event { kind, place: member.place, path: at.path() })
}

/// `ref` and `mutex` of a condition.
fn condition(node: &Node, at: &At<'_>) -> Result<(String, String), RtAppError> {
    let (mut reference, mut mutex) = (None, None);
    for member in members(node, at)? {
        let here = at.child(&member.key);
        let value = text(&member.node, &here);
        match member.key.as_str() {
            "ref" => once(&mut reference, value?.to_owned(), member, &here)?,
            "mutex" => once(&mut mutex, value?.to_owned(), member, &here)?,
            _ => return unknown(member, &here, "property", &["ref", "mutex"]),
        }
    }
    match (reference, mutex) {
        (Some(reference), Some(mutex)) => Ok((reference, mutex)),
        (None, _) => at.fail(node.place, "`ref`, the condition's name, is missing"),
        (_, None) => at.fail(node.place, "`mutex`, the name of the lock, is missing"),
    }
}

fn timer(node: &Node, at: &At<'_>) -> Result<Kind, RtAppError> {
    let (mut reference, mut period, mut mode) = (None, None, None);
    for member in members(node, at)? {
        let here = at.child(&member.key);
        match member.key.as_str() {
            "ref" => once(&mut reference, text(&member.node, &here)?.to_owned(), member, &here)?,
            "period" => once(&mut period, microseconds(&member.node, &here)?, member, &here)?,
            "mode" => {
                let value = match text(&member.node, &here)? {
                    "relative" => TimerMode::Relative,
                    "absolute" => TimerMode::Absolute,
                    other => {
                        let reason = format!("unknown mode `{other}` (known: relative, absolute)");
                        return here.fail(member.node.place, reason);
                    }
                };
                once(&mut mode, value, member, &here)?;
            }
            _ => return unknown(member, &here, "property", &["ref", "period", "mode"]),
        }
    }
    let Some(reference) = reference else {
        return at.fail(node.place, "`ref`, the timer's name, is missing");
    };
    let Some(period_ns) = period else { return at.fail(node.place, "`period` is missing") };
    Ok(Kind::Timer { reference, period_ns, mode: mode.unwrap_or_default() })
}

/// Default distance of the places that a `chase` visits.
const STRIDE: u32 = 64;

fn memrun(node: &Node, at: &At<'_>) -> Result<MemRun, RtAppError> {
    let (mut kind, mut bytes, mut count, mut shared, mut stride, mut random) =
        (None, None, None, None, None, None);
    for member in members(node, at)? {
        let here = at.child(&member.key);
        let value = &member.node;
        match member.key.as_str() {
            "type" => once(&mut kind, text(value, &here)?, member, &here)?,
            "size" => once(&mut bytes, integer(value, &here, 1, i64::MAX)? as u64, member, &here)?,
            "count" => once(&mut count, integer(value, &here, 0, i64::MAX)? as u64, member, &here)?,
            "ref" => once(&mut shared, text(value, &here)?.to_owned(), member, &here)?,
            "stride" => once(&mut stride, integer(value, &here, 1, 1 << 30)? as u32, member, &here)?,
            "pattern" => match text(value, &here)? {
                "random" => once(&mut random, true, member, &here)?,
                "sequential" => once(&mut random, false, member, &here)?,
                other => {
                    let reason = format!("unknown pattern `{other}` (known: random, sequential)");
                    return here.fail(value.place, reason);
                }
            },
            _ => {
                let properties = ["type", "size", "count", "stride", "pattern", "ref"];
                return unknown(member, &here, "property", &properties);
            }
        }
    }
    let access = match kind {
        Some("read") => Access::Read,
        Some("write") => Access::Write,
        Some("chase") => Access::Chase { stride: stride.unwrap_or(STRIDE), random: random.unwrap_or(true) },
        _ => return at.fail(node.place, "`type` has to be `read`, `write` or `chase`"),
    };
    let (Some(bytes), Some(count)) = (bytes, count) else {
        return at.fail(node.place, "`size` and `count` are needed");
    };
    Ok(MemRun { access, bytes, count, shared })
}
