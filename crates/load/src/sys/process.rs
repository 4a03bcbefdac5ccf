//! Processes: start, end, wait.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::sys::prctl::{set_child_subreaper, set_pdeathsig};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use serde::Serialize;

use super::{check, last_error};

/// Process identifier.
pub type Pid = libc::pid_t;

/// Side of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The child.
    Child,
    /// The parent.
    Parent(Pid),
}

/// End of a process, and the resources that the process and its waited-for children used.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Process number.
    pub pid: Pid,
    /// Exit code or signal.
    pub how: How,
    /// Resources.
    pub usage: Usage,
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// `exit` with this code.
    Exited(i32),
    /// Killed by this signal.
    Killed(i32),
}

/// Resources used, from `struct rusage` (getrusage(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Usage {
    /// User CPU time in microseconds.
    pub user_us: u64,
    /// System CPU time in microseconds.
    pub system_us: u64,
    /// Largest resident set in KiB.
    pub max_rss_kib: u64,
    /// Context switches by waiting.
    pub voluntary_switches: u64,
    /// Context switches by preemption.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
}

/// `fork(2)`. The caller is in a process whose other threads do not hold locks that the child needs: the
/// child runs only the worker's code, which shares no lock with these threads except the allocator's lock,
/// which the C library guards.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: see above; parent and child return normally.
    match unsafe { libc::fork() } {
        ..0 => Err(last_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// End this process at once, without running exit handlers, which belong to the process that was forked.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: always sound; nothing is run afterwards.
    unsafe { libc::_exit(code) }
}

/// Make the kernel send `signal` to this process when the thread that forked it ends.
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(set_pdeathsig(signal)?)
}

/// Make this process end when `parent` ends, which forked it; an error if `parent` has ended already.
pub fn die_with(parent: Pid, signal: Signal) -> io::Result<()> {
    die_with_parent(signal)?;
    if parent_pid() == parent { Ok(()) } else { Err(io::Error::other("the parent has ended")) }
}

/// Make orphaned descendants children of this process instead of children of init.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(true)?)
}

/// This process.
pub fn own_pid() -> Pid {
    std::process::id() as Pid
}

/// The parent of this process.
pub fn parent_pid() -> Pid {
    std::os::unix::process::parent_id() as Pid
}

/// State, parent and start time (ticks since boot) of a process: proc_pid_stat(5), fields 3, 4 and 22.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, …; `Z` and `X` for a process that has ended.
    pub state: String,
    /// The parent.
    pub parent: Pid,
    /// Ticks since boot.
    pub start: u64,
}

/// The state of a process; `None` if there is no such process.
pub fn stat(pid: Pid) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain spaces and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
    Some(Stat { state, parent, start: fields.nth(17)?.parse().ok()? })
}

/// Wait for a child of the calling thread: any child (`-1`) or the given child.
pub fn wait(pid: Pid) -> io::Result<Ended> {
    wait_with(pid, 0).map(|ended| ended.expect("a wait without WNOHANG returns a child"))
}

/// Reap a child that has ended. Return `None` if no child has ended.
pub fn wait_no_hang(pid: Pid) -> io::Result<Option<Ended>> {
    wait_with(pid, libc::WNOHANG)
}

/// Whether a child has ended. The child remains to be reaped.
pub fn has_ended(pid: Pid) -> io::Result<bool> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    Ok(waitid(Id::Pid(nix::unistd::Pid::from_raw(pid)), flags)? != WaitStatus::StillAlive)
}

/// Resources of a child that has ended, and of its waited-for children. The child remains to be reaped.
pub fn usage_of_ended(pid: Pid) -> io::Result<Usage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let (nobody, flags) = (std::ptr::null_mut::<libc::siginfo_t>(), libc::WEXITED | libc::WNOWAIT);
    // The wrapper of waitid(2) in the C library lacks the system call's last argument.
    // SAFETY: the pointer to the usage is valid, and zero is a valid rusage.
    let usage = unsafe {
        check(libc::syscall(libc::SYS_waitid, libc::P_PID, pid, nobody, flags, usage.as_mut_ptr()))?;
        usage.assume_init()
    };
    Ok(convert(&usage))
}

fn wait_with(pid: Pid, flags: i32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid; zero is a valid rusage, so each part that the kernel does not write is valid.
    let (got, usage) = unsafe {
        let got = libc::wait4(pid, &raw mut status, flags | libc::__WNOTHREAD, usage.as_mut_ptr());
        (got, usage.assume_init())
    };
    match got {
        ..0 => Err(last_error()),
        0 => Ok(None),
        pid => {
            let how = if libc::WIFSIGNALED(status) {
                How::Killed(libc::WTERMSIG(status))
            } else {
                How::Exited(libc::WEXITSTATUS(status))
            };
            Ok(Some(Ended { pid, how, usage: convert(&usage) }))
        }
    }
}

/// Send a signal. A process that does not exist is not an error.
pub fn kill(pid: Pid, signal: i32) {
    // SAFETY: no pointers.
    unsafe { libc::kill(pid, signal) };
}

impl Usage {
    /// Resources used so far by all threads of this process.
    pub fn own() -> Self {
        Self::of(UsageWho::RUSAGE_SELF)
    }

    /// Resources used by this process's reaped children and their reaped descendants.
    pub fn of_children() -> Self {
        Self::of(UsageWho::RUSAGE_CHILDREN)
    }

    fn of(who: UsageWho) -> Self {
        getrusage(who).map(|usage| convert(usage.as_ref())).unwrap_or_default()
    }

    /// Resources used since `before`. The largest resident set is the maximum over the complete run time.
    pub fn since(self, before: Self) -> Self {
        self.combined(before, std::ops::Sub::sub, |now, _| now)
    }

    /// Resources used by two groups of processes together.
    pub fn plus(self, other: Self) -> Self {
        self.combined(other, std::ops::Add::add, u64::max)
    }

    fn combined(self, other: Self, count: fn(u64, u64) -> u64, maximum: fn(u64, u64) -> u64) -> Self {
        Self {
            user_us: count(self.user_us, other.user_us),
            system_us: count(self.system_us, other.system_us),
            max_rss_kib: maximum(self.max_rss_kib, other.max_rss_kib),
            voluntary_switches: count(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: count(self.involuntary_switches, other.involuntary_switches),
            minor_faults: count(self.minor_faults, other.minor_faults),
            major_faults: count(self.major_faults, other.major_faults),
        }
    }
}

fn convert(usage: &libc::rusage) -> Usage {
    let microseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Usage {
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        max_rss_kib: usage.ru_maxrss as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

/// Replace this process by a command, looked up in `PATH`. The function returns only on failure, with the error.
pub fn exec(argv: &[String]) -> io::Error {
    let Ok(strings) = argv.iter().map(|each| CString::new(each.as_bytes())).collect::<Result<Vec<_>, _>>()
    else {
        return io::Error::new(io::ErrorKind::InvalidInput, "an argument contains a NUL byte");
    };
    match nix::unistd::execvp(&strings[0], &strings) {
        Ok(never) => match never {},
        Err(error) => error.into(),
    }
}

/// Interrupt a blocking call of this process's main thread.
pub fn interrupt_main_thread() {
    // SAFETY: no pointers; the main thread's number is the process's.
    unsafe { libc::syscall(libc::SYS_tgkill, own_pid(), own_pid(), libc::SIGALRM) };
}

/// A descriptor that becomes readable when a process ends (`pidfd_open(2)`, Linux 5.3).
pub fn open(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let descriptor = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
}

/// Take over a descriptor that the starter of this program handed over by number, and close the descriptor in
/// executed images. Return an error if the descriptor is not open. Only for numbers that no other part of
/// this program uses.
pub fn take_over(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    check(unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) }.into())?;
    // SAFETY: the call has just shown that the descriptor is open, and by the condition above no other part
    // of the program owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
