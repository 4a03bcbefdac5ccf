//! The `global` object.

use super::document::Global;
use super::error::RtAppError;
use super::fields::{At, boolean, integer, members, once, text, unknown};
use super::json::{Member, Node, Value};
use crate::program::Policy;

const KEYS: [&str; 14] = [
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
];

/// Default size of a thread's buffer, in bytes.
const MEM_BUFFER: u64 = 4 << 20;

/// Parse the object, or return the defaults if the object is missing.
pub fn parse(node: Option<&Node>, at: &At<'_>) -> Result<Global, RtAppError> {
    let mut global = Global {
        duration_ns: None,
        default_policy: None,
        io_device: "/dev/null".to_owned(),
        mem_buffer_bytes: MEM_BUFFER,
        notes: Vec::new(),
    };
    let Some(node) = node else { return Ok(global) };
    let mut unused = Vec::new();
    for (position, member) in members(node, at)?.iter().enumerate() {
        let here = at.child(&member.key);
        if members(node, at)?[..position].iter().any(|earlier| earlier.key == member.key) {
            once(&mut Some(()), (), member, &here)?;
        }
        property(&mut global, member, &here, &mut unused)?;
    }
    if !unused.is_empty() {
        global
            .notes
            .push(format!("no log files are written: global.{} has no effect", unused.join(", global.")));
    }
    Ok(global)
}

fn property(
    global: &mut Global,
    member: &Member,
    at: &At<'_>,
    unused: &mut Vec<String>,
) -> Result<(), RtAppError> {
    let node = &member.node;
    let mut note = |text: &str| global.notes.push(text.to_owned());
    match member.key.as_str() {
        "duration" => match integer(node, at, -1, i64::MAX / 1_000_000_000)? {
            0 => return at.fail(node.place, "a duration of 0 seconds is not valid; −1 is without end"),
            seconds => {
                global.duration_ns = u64::try_from(seconds).ok().map(|seconds| seconds * 1_000_000_000)
            }
        },
        "default_policy" => global.default_policy = Some(policy(node, at)?),
        "io_device" => global.io_device = text(node, at)?.to_owned(),
        "mem_buffer_size" => global.mem_buffer_bytes = integer(node, at, 1, i64::MAX)? as u64,
        "calibration" => match &node.value {
            Value::Integer(_) => {
                note("global.calibration is in rt-app's loops: the speed of this machine is measured instead")
            }
            Value::Text(cpu) if is_cpu(cpu) => {}
            _ => return at.fail(node.place, "`CPU0` or another CPU, or nanoseconds per loop was expected"),
        },
        "pi_enabled" if boolean(node, at)? => {
            note("global.pi_enabled has no effect: locks inherit no priorities")
        }
        "lock_pages" if boolean(node, at)? => {
            note("global.lock_pages has no effect: schedload locks no memory")
        }
        "cumulative_slack" if boolean(node, at)? => {
            note("global.cumulative_slack has no effect: the slack of every timer is a separate sample");
        }
        "pi_enabled" | "lock_pages" | "cumulative_slack" => {}
        "gnuplot" => {
            boolean(node, at)?;
            unused.push(member.key.clone());
        }
        // `frag` belongs to an older rt-app, whose examples use it.
        "logdir" | "log_basename" | "log_size" | "ftrace" | "frag" => match &node.value {
            Value::Text(_) | Value::Bool(_) | Value::Integer(_) | Value::Null => {
                unused.push(member.key.clone())
            }
            other => {
                return at
                    .fail(node.place, format!("a string or a number was expected, not {}", other.kind()));
            }
        },
        _ => return unknown(member, at, "property", &KEYS),
    }
    Ok(())
}

fn is_cpu(text: &str) -> bool {
    text.strip_prefix("CPU").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A policy by its name in the kernel.
pub fn policy(node: &Node, at: &At<'_>) -> Result<Policy, RtAppError> {
    let name = text(node, at)?;
    let kernel_name = |policy: Policy| format!("SCHED_{}", policy.name().to_uppercase());
    Policy::ALL.into_iter().find(|policy| kernel_name(*policy) == name).map_or_else(
        || {
            let names = Policy::ALL.map(kernel_name).join(", ");
            at.fail(node.place, format!("unknown policy `{name}` (known: {names})"))
        },
        Ok,
    )
}
