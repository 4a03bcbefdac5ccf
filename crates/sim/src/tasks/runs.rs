//! Bytes in flight in the order of writing, and the memory that their readers have freed.

use std::collections::VecDeque;

use crate::physics::Waiting;

/// Bytes that one CPU has written, in order.
#[derive(Debug, Clone, Copy)]
struct Run {
    cpu: u16,
    bytes: u32,
    /// Capacity that the bytes occupy.
    charge: u32,
    /// What messages had brought into the caches of the CPU's core after these bytes, 0 until it is noted; see
    /// [`Written`](crate::physics::Written).
    written: u64,
}

/// Bytes in flight: a run for each message, or in a stream for the bytes that one CPU has written without a break.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs(VecDeque<Run>);

impl Runs {
    /// Size of a run in memory.
    pub const EACH_BYTES: u64 = size_of::<Run>() as u64;

    /// Append a run. The capacities of all kinds of channels are below 2³².
    #[inline]
    pub fn push(&mut self, cpu: u16, bytes: u64, charge: u64) {
        self.0.push_back(Run { cpu, bytes: bytes as u32, charge: charge as u32, written: 0 });
    }

    /// Append bytes of a stream.
    #[inline]
    pub fn extend(&mut self, cpu: u16, bytes: u64, charge: u64) {
        match self.0.back_mut() {
            Some(last) if last.cpu == cpu => {
                last.bytes += bytes as u32;
                last.charge += charge as u32;
                last.written = 0;
            }
            _ => self.push(cpu, bytes, charge),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of the first run, 0 without a run.
    #[inline]
    pub fn first_bytes(&self) -> u64 {
        self.0.front().map_or(0, |run| run.bytes.into())
    }

    /// CPU that wrote the next `bytes` bytes to be read, which have `memory` bytes of memory, and the message in the caches of this
    /// CPU's core.
    #[inline]
    pub fn front(&self, bytes: u64, memory: u64) -> Option<(usize, Waiting)> {
        let run = self.0.front()?;
        let behind = u64::from(run.bytes).saturating_sub(bytes);
        Some((run.cpu.into(), Waiting { written: run.written, behind, memory }))
    }

    /// Note what messages have brought into the caches of the core that wrote the last run, or all runs since the last note.
    #[inline]
    pub fn note_written(&mut self, written: u64, all: bool) {
        if all {
            let new = self.0.iter_mut().rev().take_while(|run| run.written == 0);
            new.for_each(|run| run.written = written);
        } else if let Some(last) = self.0.back_mut()
            && last.written == 0
        {
            last.written = written;
        }
    }

    /// Remove the first run; return its bytes and the capacity that they occupied.
    pub fn pop(&mut self) -> (u64, u64) {
        self.0.pop_front().map_or((0, 0), |run| (run.bytes.into(), run.charge.into()))
    }

    /// Remove `bytes` bytes; return the capacity that becomes free: of a socket's message when the complete message has been read,
    /// in a stream at once.
    #[inline]
    pub fn take(&mut self, bytes: u64, streams: bool) -> u64 {
        let (mut left, mut freed) = (bytes, 0);
        while left > 0 {
            let Some(run) = self.0.front_mut() else { break };
            if u64::from(run.bytes) > left {
                run.bytes -= left as u32;
                if streams {
                    run.charge -= left as u32;
                    freed += left;
                }
                break;
            }
            left -= u64::from(run.bytes);
            freed += u64::from(run.charge);
            self.0.pop_front();
        }
        freed
    }
}

/// Memory of a channel that readers have freed since the previous write, and that the next write uses again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Freed {
    /// CPU of the last reader.
    pub cpu: u16,
    /// Bytes that the readers copied.
    pub bytes: u64,
}

impl Freed {
    /// Note that a CPU has read, has copied `bytes` and has freed their memory, of which at most `most` bytes are kept.
    #[inline]
    pub fn note(&mut self, bytes: u64, cpu: usize, most: u64) {
        *self = Self { cpu: cpu as u16, bytes: (self.bytes + bytes).min(most) };
    }

    /// Use freed memory for a write of `bytes`. Return the part that is used.
    #[inline]
    pub fn reuse(&mut self, bytes: u64) -> Self {
        let reused = Self { bytes: self.bytes.min(bytes), ..*self };
        self.bytes -= reused.bytes;
        reused
    }
}
