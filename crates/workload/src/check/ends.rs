//! Ends of channels, and checks that both ends of a channel are used.

use std::collections::BTreeMap;

use super::names::find_resource;
use crate::error::ProgramError;
use crate::program::{Direction, Mode, Op, Program, Ref};

/// One of the two ends of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// Sends forward, receives backward; the writing end of a pipe.
    Near,
    /// Receives forward, sends backward; the reading end of a pipe.
    Far,
}

impl End {
    /// The end at which messages of a direction are sent.
    pub fn sending(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Near,
            Direction::Backward => Self::Far,
        }
    }

    /// The end at which messages of a direction are received.
    pub fn receiving(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Far,
            Direction::Backward => Self::Near,
        }
    }
}

/// The channel and end that an operation needs; `None` for an operation without a channel.
pub(crate) fn traffic(op: &Op) -> Option<(&Ref, End)> {
    match op {
        Op::Send { channel, direction, .. } => Some((channel, End::sending(*direction))),
        Op::Receive { channel, direction, .. } => Some((channel, End::receiving(*direction))),
        _ => None,
    }
}

/// Refuse an end of a channel that both processes and threads use: threads share the creator's descriptors, which are
/// closed once the last process that needs them exists.
pub(crate) fn one_mode_each(program: &Program) -> Result<(), ProgramError> {
    let mut modes: BTreeMap<(&str, End), Mode> = BTreeMap::new();
    for group in &program.groups {
        for (channel, end) in group.body.iter().flat_map(Op::all).filter_map(traffic) {
            if *modes.entry((&channel.name, end)).or_insert(group.mode) != group.mode {
                let reason = "one of its ends is used by both processes and threads".to_owned();
                return Err(ProgramError::Body { place: format!("channel `{}`", channel.name), reason });
            }
        }
    }
    Ok(())
}

/// Refuse a direction of a channel in which messages are only sent or only received: a task would wait forever.
pub(crate) fn both_ends_used(program: &Program) -> Result<(), ProgramError> {
    let mut used: BTreeMap<(usize, bool), (bool, bool)> = BTreeMap::new();
    for group in &program.groups {
        for op in group.body.iter().flat_map(Op::all) {
            let (channel, direction, sends) = match op {
                Op::Send { channel, direction, .. } => (channel, direction, true),
                Op::Receive { channel, direction, .. } => (channel, direction, false),
                _ => continue,
            };
            let position = find_resource(&group.name, &program.resources.channels, &channel.name)?;
            let entry = used.entry((position, *direction == Direction::Forward)).or_default();
            if sends { entry.0 = true } else { entry.1 = true }
        }
    }
    for ((position, forward), (sent, received)) in used {
        if sent && received {
            continue;
        }
        let name = &program.resources.channels[position].name;
        let way = if forward { "forward" } else { "backward" };
        let reason = if sent {
            format!("messages are sent {way}, but no task receives them")
        } else {
            format!("messages are received {way}, but no task sends messages")
        };
        return Err(ProgramError::Body { place: format!("channel `{name}`"), reason });
    }
    Ok(())
}
