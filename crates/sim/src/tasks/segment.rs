//! Pieces of work.

use crate::ledger::Account;
use crate::time::Ns;

/// What a segment contains besides its work, in the order in which it is spent.
pub(crate) const EXTRAS: [Account; 5] =
    [Account::User, Account::Cache, Account::Remote, Account::Bandwidth, Account::Messages];

/// Positions in [`EXTRAS`].
pub(crate) const CARRY: usize = 0;
pub(crate) const CACHE: usize = 1;
pub(crate) const REMOTE: usize = 2;
pub(crate) const BANDWIDTH: usize = 3;
pub(crate) const MESSAGES: usize = 4;

/// An uninterrupted piece of a task's work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    /// Nanoseconds at full speed until it is done, extras included.
    pub left: Ns,
    pub extras: [u32; EXTRAS.len()],
    pub account: Account,
    /// The task looks at the clock while it works: what comes in between is told to it.
    pub watched: bool,
}

impl Segment {
    pub const EMPTY: Self = Self::new(Account::User, 0);

    pub const fn new(account: Account, ns: Ns) -> Self {
        Self { left: ns, extras: [0; EXTRAS.len()], account, watched: false }
    }

    /// Whether there is work besides the extras.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.left > self.extras.iter().map(|extra| u64::from(*extra)).sum()
    }

    /// Adds something to be spent before the work.
    #[inline]
    pub fn add(&mut self, extra: usize, ns: Ns) {
        let ns = ns.min(u64::from(u32::MAX - self.extras[extra]));
        self.extras[extra] += ns as u32;
        self.left += ns;
    }
}
