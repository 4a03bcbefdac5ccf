//! State of a cursor's loops and runs of messages.

use super::step::Step;
use crate::program::{Direction, Take};

/// Messages of a [`super::instruction::Run`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Burst {
    pub bytes: u64,
    pub channel: u32,
    pub stride: u32,
    pub sends: bool,
    pub until_closed: bool,
    pub direction: Direction,
    pub take: Take,
    pub counter: Option<u32>,
}

impl Burst {
    #[inline]
    pub fn next(&mut self) -> Step {
        let Self { channel, bytes, direction, take, counter, .. } = *self;
        self.channel = channel.wrapping_add(self.stride);
        if self.sends {
            Step::Send { channel, bytes, direction }
        } else {
            Step::Receive { channel, bytes, direction, take, counter }
        }
    }
}

/// A loop being run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub index: u64,
    /// State of a loop that ends by count or time.
    pub end: u64,
    pub exit: u32,
    pub by: Finish,
}

impl Frame {
    pub const EMPTY: Self = Self { index: 0, end: 0, exit: 0, by: Finish::Closed };

    /// Whether a loop continues; for loops that do not end by time.
    #[inline(never)]
    pub fn runs_untimed(&self) -> bool {
        match self.by {
            Finish::Count => self.index < self.end,
            Finish::Closed => true,
            Finish::Once | Finish::Time => false,
        }
    }
}

/// End condition of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Count,
    Time,
    Closed,
    Once,
}
