//! The `tasks` object: threads and their phases.

use std::collections::HashSet;

use super::document::{Global, Phase, Task};
use super::error::RtAppError;
use super::events;
use super::fields::{At, integer, loops, members, microseconds, numbers, once, text, unknown};
use super::global::policy;
use super::json::{Member, Node};
use crate::program::{Attributes, MAX_PLACES, Policy};

/// Properties of threads and phases.
const SHARED: [&str; 11] = [
    "loop",
    "cpus",
    "nodes_membind",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "taskgroup",
];

/// Properties that only threads have.
const OWN: [&str; 5] = ["instance", "delay", "phases", "period", "deadline"];

/// Default priority of a real-time thread in rt-app.
const REAL_TIME_PRIORITY: i32 = 10;

/// Parse all threads.
pub fn parse(node: &Node, at: &At<'_>, global: &Global) -> Result<Vec<Task>, RtAppError> {
    let mut names = HashSet::new();
    let mut tasks = Vec::new();
    for member in members(node, at)? {
        let mut task = task(member, &at.child(&member.key), global)?;
        let mut number = 2;
        while !names.insert(task.name.clone()) {
            task.name = format!("{}_{number}", member.key);
            number += 1;
        }
        tasks.push(task);
    }
    Ok(tasks)
}

/// Properties of a thread or phase object.
#[derive(Default)]
struct Properties {
    loops: Option<Option<u64>>,
    attributes: Attributes,
}

impl Properties {
    /// Parse a member if the member is a property. Return whether it is a property.
    fn take(&mut self, member: &Member, at: &At<'_>) -> Result<bool, RtAppError> {
        let (node, given) = (&member.node, &mut self.attributes);
        match member.key.as_str() {
            "loop" => once(&mut self.loops, loops(node, at)?, member, at)?,
            "cpus" => once(&mut given.cpus, numbers(node, at, MAX_PLACES)?, member, at)?,
            "nodes_membind" => once(&mut given.nodes, numbers(node, at, MAX_PLACES)?, member, at)?,
            "policy" => once(&mut given.policy, policy(node, at)?, member, at)?,
            "priority" => once(&mut given.priority, integer(node, at, -20, 99)? as i32, member, at)?,
            "dl-runtime" => once(&mut given.runtime_ns, microseconds(node, at)?, member, at)?,
            "dl-period" => once(&mut given.period_ns, microseconds(node, at)?, member, at)?,
            "dl-deadline" => once(&mut given.deadline_ns, microseconds(node, at)?, member, at)?,
            "util_min" => once(&mut given.util_min, integer(node, at, 0, 1024)? as u32, member, at)?,
            "util_max" => once(&mut given.util_max, integer(node, at, 0, 1024)? as u32, member, at)?,
            "taskgroup" => once(&mut given.group, text(node, at)?.to_owned(), member, at)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The requested attributes. `default` is the policy of a thread without a given policy.
    fn attributes(self, default: Option<Policy>) -> Attributes {
        let requested = self.attributes;
        let policy = requested.policy.or(default);
        let usual_priority = policy.map(|policy| if policy.real_time() { REAL_TIME_PRIORITY } else { 0 });
        let runtime_ns = requested.runtime_ns.filter(|ns| *ns > 0);
        let period_ns = requested.period_ns.or(runtime_ns);
        let deadline = policy == Some(Policy::Deadline);
        Attributes {
            policy,
            priority: requested.priority.or(usual_priority),
            runtime_ns,
            deadline_ns: requested.deadline_ns.or(period_ns).filter(|_| deadline),
            period_ns: period_ns.filter(|_| deadline),
            group: requested.group.filter(|group| !group.is_empty()),
            ..requested
        }
    }
}

fn task(member: &Member, at: &At<'_>, global: &Global) -> Result<Task, RtAppError> {
    let (mut instances, mut delay_ns, mut phases) = (None, None, None);
    let mut properties = Properties::default();
    let mut events = Vec::new();
    let list = members(&member.node, at)?;
    let deadline = is_deadline(list, global);
    for each in list {
        let here = at.child(&each.key);
        match each.key.as_str() {
            "instance" => {
                once(&mut instances, integer(&each.node, &here, 0, u32::MAX.into())? as u32, each, &here)?;
            }
            "delay" => once(&mut delay_ns, microseconds(&each.node, &here)?, each, &here)?,
            "phases" => once(&mut phases, each, each, &here)?,
            // Names without `dl-`, of older versions. The policy distinguishes these members from the events.
            "runtime" if deadline && !list.iter().any(|other| other.key == "dl-runtime") => {
                once(&mut properties.attributes.runtime_ns, microseconds(&each.node, &here)?, each, &here)?;
            }
            "period" => {
                once(&mut properties.attributes.period_ns, microseconds(&each.node, &here)?, each, &here)?
            }
            "deadline" => {
                once(&mut properties.attributes.deadline_ns, microseconds(&each.node, &here)?, each, &here)?
            }
            _ if properties.take(each, &here)? => {}
            key if events::is_event(key) => events.push(each),
            _ => return refuse(each, &here, &[&SHARED[..], &OWN[..]].concat()),
        }
    }
    let own_loops = properties.loops;
    let attributes = properties.attributes(global.default_policy);
    checked(&attributes, member, at)?;
    let (loops, phases) = match phases {
        Some(phases) => {
            if let Some(event) = events.first() {
                let reason = "an event next to `phases` never runs: put the event into a phase";
                return at.child(&event.key).fail(event.place, reason);
            }
            (own_loops.unwrap_or(None), all_phases(phases, &at.child("phases"), &attributes)?)
        }
        // The events form one phase. The thread's `loop` is the number of repetitions.
        None => {
            let phase = Phase {
                loops: own_loops.unwrap_or(Some(1)),
                attributes: Attributes::default(),
                events: all_events(&events, member, at)?,
            };
            (own_loops.map(|_| 1), vec![phase])
        }
    };
    Ok(Task {
        name: member.key.clone(),
        place: member.place,
        instances: instances.unwrap_or(1),
        delay_ns: delay_ns.unwrap_or(0),
        loops,
        attributes,
        phases,
    })
}

fn is_deadline(list: &[Member], global: &Global) -> bool {
    let requested = list.iter().find(|member| member.key == "policy");
    match requested.and_then(|member| policy(&member.node, &At::ROOT).ok()) {
        Some(policy) => policy == Policy::Deadline,
        None => global.default_policy == Some(Policy::Deadline),
    }
}

fn all_phases(member: &Member, at: &At<'_>, thread: &Attributes) -> Result<Vec<Phase>, RtAppError> {
    let list = members(&member.node, at)?;
    if list.is_empty() {
        return at.fail(member.place, "there is no phase");
    }
    let mut phases = list
        .iter()
        .map(|each| phase(each, &at.child(&each.key)))
        .collect::<Result<Vec<Phase>, RtAppError>>()?;
    // A phase without CPUs has the thread's CPUs, or all CPUs: the CPUs of the previous phase do not remain.
    if phases.iter().any(|phase| phase.attributes.cpus.is_some()) {
        for phase in &mut phases {
            phase.attributes.cpus.get_or_insert_with(|| thread.cpus.clone().unwrap_or_default());
        }
    }
    Ok(phases)
}

fn phase(member: &Member, at: &At<'_>) -> Result<Phase, RtAppError> {
    let mut properties = Properties::default();
    let mut events = Vec::new();
    for each in members(&member.node, at)? {
        let here = at.child(&each.key);
        match each.key.as_str() {
            _ if properties.take(each, &here)? => {}
            key if events::is_event(key) => events.push(each),
            _ => return refuse(each, &here, &SHARED),
        }
    }
    let loops = properties.loops.unwrap_or(Some(1));
    let attributes = properties.attributes(None);
    checked(&attributes, member, at)?;
    Ok(Phase { loops, attributes, events: all_events(&events, member, at)? })
}

fn all_events(
    list: &[&Member],
    owner: &Member,
    at: &At<'_>,
) -> Result<Vec<super::document::Event>, RtAppError> {
    if list.is_empty() {
        return at.fail(owner.place, "there is no event to run");
    }
    list.iter().map(|member| events::parse(member, &at.child(&member.key))).collect()
}

fn checked(attributes: &Attributes, member: &Member, at: &At<'_>) -> Result<(), RtAppError> {
    attributes.check().or_else(|reason| at.fail(member.place, reason))
}

fn refuse<T>(member: &Member, at: &At<'_>, properties: &[&str]) -> Result<T, RtAppError> {
    let names = [&events::NAMES[..], properties].concat();
    unknown(member, at, "event or property", &names)
}
