//! Pages of a pipe.
//!
//! ```text
//!          ┌──────┬──────┬──────┬── … ──┐
//! read() ◄─┤  60  │ 4000 │ 900  │       │◄─ write(): to the end of the last page if the bytes fit there,
//!          └──────┴──────┴──────┴── … ──┘            otherwise to new pages
//!            unread bytes of each page; a page is freed when all are read
//! ```

use crate::kernel::PipeWakeups;
use crate::machine::PIPE_PAGE;

/// Pages of a pipe (`PIPE_DEF_BUFFERS`, include/linux/pipe_fs_i.h; pipe(7)).
const PAGES: usize = 16;

/// Pages of a pipe that are in use, and what the last read has changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Pages {
    /// Unread bytes of each page, from `first` on in a circle.
    unread: [u16; PAGES],
    first: u8,
    count: u8,
    /// End of the bytes in the last page.
    end: u16,
    /// Whether no page was free before the last read, and whether the read has freed a page.
    was_full: bool,
    freed: bool,
}

impl Pages {
    /// Most bytes of a pipe.
    pub const BYTES: u64 = PAGES as u64 * PIPE_PAGE;

    /// Whether no page is free. The last page may have room all the same.
    pub fn full(&self) -> bool {
        usize::from(self.count) == PAGES
    }

    /// Bytes of a write that go to the end of the last page: those beyond full pages, if all of these fit there. A writer that has
    /// waited for a page in this call writes to new pages only.
    #[inline]
    fn merged(&self, bytes: u64, waited: bool) -> u64 {
        let beyond = bytes % PIPE_PAGE;
        let fits = !waited && self.count > 0 && u64::from(self.end) + beyond <= PIPE_PAGE;
        if fits { beyond } else { 0 }
    }

    /// Part of `bytes` that can be written now.
    #[inline]
    pub fn room(&self, bytes: u64, waited: bool) -> u64 {
        let free = (PAGES as u64 - u64::from(self.count)) * PIPE_PAGE;
        bytes.min(self.merged(bytes, waited) + free)
    }

    /// Account `bytes`, which fit.
    #[inline]
    pub fn write(&mut self, bytes: u64, waited: bool) {
        debug_assert!(bytes <= self.room(bytes, waited), "only bytes that fit are written");
        let merged = self.merged(bytes, waited);
        if merged > 0 {
            self.unread[(usize::from(self.first) + usize::from(self.count) - 1) % PAGES] += merged as u16;
            self.end += merged as u16;
        }
        let mut rest = bytes - merged;
        while rest > 0 {
            let part = rest.min(PIPE_PAGE);
            self.unread[(usize::from(self.first) + usize::from(self.count)) % PAGES] = part as u16;
            self.end = part as u16;
            self.count += 1;
            rest -= part;
        }
    }

    /// Account a read of `bytes`, which are there.
    #[inline]
    pub fn read(&mut self, bytes: u64) {
        (self.was_full, self.freed) = (self.full(), false);
        let mut rest = bytes;
        while rest > 0 {
            debug_assert!(self.count > 0, "only bytes that were written are read");
            let unread = &mut self.unread[usize::from(self.first)];
            let part = rest.min((*unread).into());
            *unread -= part as u16;
            rest -= part;
            if *unread == 0 {
                self.first = (self.first + 1) % PAGES as u8;
                self.count -= 1;
                self.freed = true;
            }
        }
    }

    /// Whether the last read wakes a waiting writer.
    pub fn wakes_writer(&self, rule: PipeWakeups) -> bool {
        match rule {
            PipeWakeups::All => self.freed,
            PipeWakeups::OneIfFull => self.was_full,
            PipeWakeups::OneIfFreed => self.was_full && self.freed,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/tasks/pages.rs"]
mod tests;
