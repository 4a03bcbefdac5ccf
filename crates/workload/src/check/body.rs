//! Checks of bodies: references resolve, indices are in range, operations are valid in their places.

use super::names::{find, find_resource};
use super::range::{Range, Variables, of};
use super::walk::{Visit, walk};
use crate::error::ProgramError;
use crate::program::{
    ChannelKind, Direction, Expr, Image, Mode, Op, Program, Ref, Repeat, Resource, Take, TaskGroup,
};

/// Greatest depth of nested loops.
pub const MAX_LOOPS: usize = 8;

/// Check the bodies of all groups.
pub fn bodies(program: &Program) -> Result<(), ProgramError> {
    program.groups.iter().try_for_each(|group| body(program, group))
}

fn body(program: &Program, group: &TaskGroup) -> Result<(), ProgramError> {
    let place = format!("group `{}`", group.name);
    let mut variables = Variables {
        task: Range::below(group.count.into()),
        replica: Range::below(program.replicas.into()),
        loops: Vec::new(),
    };
    let check = Check { program, group, place: &place };
    walk(&group.body, &mut variables, &mut |visit| check.op(&visit))
}

struct Check<'a> {
    program: &'a Program,
    group: &'a TaskGroup,
    place: &'a str,
}

impl Check<'_> {
    fn op(&self, visit: &Visit<'_>) -> Result<(), ProgramError> {
        let resources = &self.program.resources;
        let variables = visit.variables;
        match visit.op {
            Op::Compute { ns } | Op::Sleep { ns } => self.number(ns, variables),
            Op::Watch { ns, over_ns, longest, gaps, lost } => {
                find("series", self.place, &self.program.series, longest)?;
                for counter in [gaps, lost] {
                    find("counter", self.place, &self.program.counters, counter)?;
                }
                self.number(ns, variables)?;
                self.number(over_ns, variables)
            }
            Op::Touch { region, offset, bytes, stride, .. } => {
                if *stride == 0 {
                    return self.refuse("the stride of a touch must be at least 1");
                }
                self.number(offset, variables)?;
                self.number(bytes, variables)?;
                self.reference(&resources.regions, region, variables)
            }
            Op::Send { channel, bytes, direction } => {
                self.channel(channel, bytes, *direction, variables).map(drop)
            }
            Op::Receive { channel, bytes, direction, take, counter } => {
                if let Some(counter) = counter {
                    find("counter", self.place, &self.program.counters, counter)?;
                }
                let kind = self.channel(channel, bytes, *direction, variables)?;
                self.take(&channel.name, kind, *take)
            }
            Op::Lock { lock } | Op::Unlock { lock } => self.reference(&resources.locks, lock, variables),
            Op::Up { semaphore, count } => {
                self.number(count, variables)?;
                self.reference(&resources.semaphores, semaphore, variables)
            }
            Op::Down { semaphore } => self.reference(&resources.semaphores, semaphore, variables),
            Op::Barrier { barrier } => self.reference(&resources.barriers, barrier, variables),
            Op::Await { condition, lock } => {
                self.reference(&resources.locks, lock, variables)?;
                self.reference(&resources.conditions, condition, variables)
            }
            Op::Signal { condition, .. } => self.reference(&resources.conditions, condition, variables),
            Op::Write { file, bytes } => {
                self.number(bytes, variables)?;
                self.reference(&resources.files, file, variables)
            }
            Op::Start { timer } => self.timer(timer),
            Op::Timer { timer, period_ns, slack, latency, missed, .. } => {
                self.timer(timer)?;
                for series in [slack, latency].into_iter().flatten() {
                    find("series", self.place, &self.program.series, series)?;
                }
                if let Some(missed) = missed {
                    find("counter", self.place, &self.program.counters, missed)?;
                }
                self.number(period_ns, variables)
            }
            Op::Set { attributes } => attributes.check().or_else(|reason| self.refuse(&reason)),
            Op::Finish if visit.forks > 0 => self.refuse(
                "a forked child cannot finish the program: only tasks of the program can finish the program",
            ),
            Op::Stamp { slot } => self.reference(&resources.slots, slot, variables),
            Op::Record { slot, series } | Op::Lap { slot, series } => {
                find("series", self.place, &self.program.series, series)?;
                self.reference(&resources.slots, slot, variables)
            }
            Op::Count { counter, by } => {
                find("counter", self.place, &self.program.counters, counter)?;
                self.number(by, variables)
            }
            Op::Wait { count } => count.as_ref().map_or(Ok(()), |count| self.number(count, variables)),
            Op::Exec { image } => self.exec(image, visit),
            Op::Loop { repeat, body } => self.repeat(repeat, body, variables),
            Op::Choose { branches } if branches.iter().all(|branch| branch.weight == 0) => {
                self.refuse("the weights of a choice add up to 0")
            }
            Op::Choose { .. } | Op::Yield | Op::Fork { .. } | Op::Finish => Ok(()),
        }
    }

    fn timer(&self, name: &str) -> Result<(), ProgramError> {
        find("timer", self.place, &self.program.resources.timers, name).map(drop)
    }

    fn repeat(&self, repeat: &Repeat, body: &[Op], variables: &Variables) -> Result<(), ProgramError> {
        if variables.loops.len() == MAX_LOOPS {
            return self.refuse(&format!("more than {MAX_LOOPS} loops are nested"));
        }
        match repeat {
            Repeat::Count(number_of) | Repeat::With(number_of) => self.number(number_of, variables),
            _ if body.is_empty() => self.refuse("a loop without a count needs a body"),
            Repeat::ForNs(ns) => self.number(ns, variables),
            Repeat::Window if self.program.window.is_none() => {
                self.refuse("a loop runs until the end of the window, but the program has no window")
            }
            Repeat::Window | Repeat::UntilClosed => Ok(()),
        }
    }

    fn exec(&self, image: &Image, visit: &Visit<'_>) -> Result<(), ProgramError> {
        if visit.forks == 0 && self.group.mode == Mode::Thread {
            return self.refuse("a thread cannot exec: exec would replace the executor; fork first");
        }
        if !visit.last {
            return self.refuse("nothing after an exec is reached");
        }
        match image {
            Image::Command { argv, .. } if argv.is_empty() => self.refuse("an exec needs a command"),
            Image::Command { .. } => Ok(()),
            Image::Work { ns, bytes, files } => {
                [ns, bytes, files].into_iter().try_for_each(|each| self.number(each, visit.variables))
            }
        }
    }

    fn channel(
        &self,
        channel: &Ref,
        bytes: &Expr,
        direction: Direction,
        variables: &Variables,
    ) -> Result<ChannelKind, ProgramError> {
        let channels = &self.program.resources.channels;
        self.reference(channels, channel, variables)?;
        let size = self.range(bytes, variables)?;
        if size.low == 0 {
            self.refuse(&format!("a message on channel `{}` can have 0 bytes", channel.name))?;
        }
        if size.high > MAX_MESSAGE {
            self.refuse(&format!(
                "a message of {} bytes on channel `{}` is over the limit of {MAX_MESSAGE}",
                size.high, channel.name
            ))?;
        }
        let kind = channels[find_resource(self.place, channels, &channel.name)?].kind;
        if kind == ChannelKind::Pipe && direction == Direction::Backward {
            self.refuse(&format!(
                "channel `{}` is a pipe, which has no backward direction; use unix or tcp",
                channel.name
            ))?;
        }
        if kind == ChannelKind::Udp && size.high > MAX_DATAGRAM {
            self.refuse(&format!(
                "a datagram of {} bytes on channel `{}` is over the limit of {MAX_DATAGRAM}",
                size.high, channel.name
            ))?;
        }
        Ok(kind)
    }

    fn take(&self, channel: &str, kind: ChannelKind, take: Take) -> Result<(), ProgramError> {
        match (take, kind) {
            (Take::WaitAll, ChannelKind::Pipe) => {
                self.refuse(&format!("channel `{channel}` is a pipe; only sockets can be read with wait_all"))
            }
            (Take::Discard, ChannelKind::Pipe | ChannelKind::Unix | ChannelKind::Udp) => {
                self.refuse(&format!("channel `{channel}` is not TCP; only TCP can discard"))
            }
            (Take::Poll | Take::Epoll, ChannelKind::Pipe | ChannelKind::Udp) => {
                self.refuse(&format!("channel `{channel}` is a pipe or UDP; only Unix sockets and TCP can be read with poll or epoll"))
            }
            _ => Ok(()),
        }
    }

    fn reference<R: Resource>(
        &self,
        defined: &[R],
        reference: &Ref,
        variables: &Variables,
    ) -> Result<(), ProgramError> {
        let resource = &defined[find_resource(self.place, defined, &reference.name)?];
        let reached = self.range(&reference.index, variables)?.high;
        let count = resource.count();
        if reached >= u64::from(count) {
            let (place, name) = (self.place.to_owned(), reference.name.clone());
            return Err(ProgramError::Index { place, kind: R::KIND, name, reached, count });
        }
        Ok(())
    }

    fn number(&self, expr: &Expr, variables: &Variables) -> Result<(), ProgramError> {
        self.range(expr, variables).map(drop)
    }

    fn range(&self, expr: &Expr, variables: &Variables) -> Result<Range, ProgramError> {
        let place = || self.place.to_owned();
        of(expr, variables).map_err(|flaw| ProgramError::Body { place: place(), reason: flaw.to_string() })
    }

    fn refuse(&self, reason: &str) -> Result<(), ProgramError> {
        let (place, reason) = (self.place.to_owned(), reason.to_owned());
        Err(ProgramError::Body { place, reason })
    }
}

/// Largest message; each task has a buffer of the size of its largest message.
const MAX_MESSAGE: u64 = 1 << 30;

/// Largest UDP payload over IPv4: 65 535 bytes of packet less 20 of IP header (RFC 791) and 8 of UDP header (RFC 768).
const MAX_DATAGRAM: u64 = 65_507;
