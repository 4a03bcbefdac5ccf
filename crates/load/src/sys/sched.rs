//! Scheduling attributes: policy, priority, nice value, slice, budget, CPU set; and memory policies.

use std::io;
use std::mem::size_of;

use schedlab_workload::cpulist::MOST_CPUS;
use schedlab_workload::program::Policy;

use super::check;

/// `struct sched_attr` with the utilisation clamps of Linux 5.3 (sched_setattr(2)); an older kernel accepts
/// the structure if the clamps are 0.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Bytes of the structure; set when the structure is passed to the kernel.
    pub size: u32,
    /// `SCHED_*`.
    pub policy: u32,
    /// `SCHED_FLAG_*`.
    pub flags: u64,
    /// Nice value of SCHED_OTHER and SCHED_BATCH.
    pub nice: i32,
    /// Priority of SCHED_FIFO and SCHED_RR.
    pub priority: u32,
    /// For SCHED_OTHER and SCHED_BATCH: the slice in nanoseconds, since Linux 6.12. For SCHED_DEADLINE: the budget.
    pub runtime: u64,
    /// Relative deadline of SCHED_DEADLINE in nanoseconds.
    pub deadline: u64,
    /// Period of SCHED_DEADLINE in nanoseconds.
    pub period: u64,
    /// Least utilisation to assume, with its flag.
    pub util_min: u32,
    /// Greatest utilisation to assume, with its flag.
    pub util_max: u32,
}

/// The kernel's number of a policy.
pub fn number(policy: Policy) -> u32 {
    let number = match policy {
        Policy::Other => libc::SCHED_OTHER,
        Policy::Batch => libc::SCHED_BATCH,
        Policy::Idle => libc::SCHED_IDLE,
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
        Policy::Deadline => libc::SCHED_DEADLINE,
    };
    number as u32
}

impl Attributes {
    /// Attributes with a policy and its parameters.
    pub fn new(policy: u32, nice: i32, priority: u32, runtime: u64) -> Self {
        Self { policy, nice, priority, runtime, ..Self::default() }
    }

    /// SCHED_DEADLINE with these times in nanoseconds; children are under SCHED_OTHER.
    pub fn deadline(runtime: u64, deadline: u64, period: u64) -> Self {
        let policy = libc::SCHED_DEADLINE as u32;
        Self { policy, flags: RESET_ON_FORK, runtime, deadline, period, ..Self::default() }
    }
}

/// Attributes of the calling thread.
pub fn attributes() -> io::Result<Attributes> {
    let mut attributes = Attributes::default();
    let size = size_of::<Attributes>();
    // SAFETY: the structure is valid for writes of `size` bytes.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) })?;
    Ok(attributes)
}

/// Set the attributes of the calling thread.
pub fn set_attributes(attributes: Attributes) -> io::Result<()> {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    // SAFETY: the structure is valid and states its size.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })?;
    Ok(())
}

/// Flag: children of the thread are under SCHED_OTHER (`SCHED_FLAG_RESET_ON_FORK`, sched_setattr(2)). A thread under
/// SCHED_DEADLINE without the flag cannot have children.
pub const RESET_ON_FORK: u64 = 0x01;

/// Flags: the policy and its parameters stay (`SCHED_FLAG_KEEP_ALL`, Linux 5.3, include/uapi/linux/sched.h).
const KEEP_ALL: u64 = 0x08 | 0x10;

/// Flag: `util_min` counts (`SCHED_FLAG_UTIL_CLAMP_MIN`, sched_setattr(2)).
pub const UTIL_MIN: u64 = 0x20;

/// Flag: `util_max` counts (`SCHED_FLAG_UTIL_CLAMP_MAX`, sched_setattr(2)).
pub const UTIL_MAX: u64 = 0x40;

/// Clamp the utilisation that the kernel assumes of the calling thread, 0 to 1024.
pub fn clamp_utilisation(least: Option<u32>, greatest: Option<u32>) -> io::Result<()> {
    let flag = |value: Option<u32>, flag| if value.is_some() { flag } else { 0 };
    set_attributes(Attributes {
        flags: KEEP_ALL | flag(least, UTIL_MIN) | flag(greatest, UTIL_MAX),
        util_min: least.unwrap_or(0),
        util_max: greatest.unwrap_or(0),
        ..Attributes::default()
    })
}

/// Let new memory of the calling thread come from `nodes` by the policy `mode` (`MPOL_*`, set_mempolicy(2)).
pub fn set_memory_policy(mode: i32, nodes: impl Iterator<Item = usize>) -> io::Result<()> {
    let mask = mask_of(nodes);
    // SAFETY: the mask is valid for reads of one bit more than its last node, which is how the kernel counts.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), MOST_CPUS + 1) })?;
    Ok(())
}

/// The calling thread's memory policy: `MPOL_*` and its nodes.
pub fn memory_policy() -> io::Result<(i32, Vec<usize>)> {
    let (mode, nodes) = get_memory_policy(0)?;
    // Linux before 5.14 reports MPOL_LOCAL as MPOL_PREFERRED without a node.
    let local = mode == libc::MPOL_PREFERRED && nodes.is_empty();
    Ok((if local { libc::MPOL_LOCAL } else { mode }, nodes))
}

/// The nodes that memory policies of the calling thread may name.
pub fn memory_nodes() -> io::Result<Vec<usize>> {
    /// `MPOL_F_MEMS_ALLOWED` (include/uapi/linux/mempolicy.h, get_mempolicy(2)).
    const MEMS_ALLOWED: u64 = 1 << 2;
    Ok(get_memory_policy(MEMS_ALLOWED)?.1)
}

fn get_memory_policy(flags: u64) -> io::Result<(i32, Vec<usize>)> {
    let (mut mode, mut mask): (i32, Mask) = (0, [0; MOST_CPUS / 64]);
    let (bits, address) = (MOST_CPUS + 1, 0);
    // SAFETY: mode and mask are valid for writes; the kernel counts one bit more than the last node.
    check(unsafe {
        libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, mask.as_mut_ptr(), bits, address, flags)
    })?;
    Ok((mode, numbers(&mask)))
}

/// Put the calling thread under SCHED_FIFO.
pub fn become_fifo(priority: u32) -> io::Result<()> {
    set_attributes(Attributes::new(libc::SCHED_FIFO as u32, 0, priority, 0))
}

/// A set of CPUs or nodes in the kernel's format, with room for the largest Linux: sched_getaffinity(2)
/// refuses a set that is smaller than the set of the kernel.
type Mask = [u64; MOST_CPUS / 64];

fn mask_of(numbers: impl Iterator<Item = usize>) -> Mask {
    let mut mask = [0; MOST_CPUS / 64];
    numbers.filter(|number| *number < MOST_CPUS).for_each(|number| mask[number / 64] |= 1 << (number % 64));
    mask
}

fn numbers(mask: &Mask) -> Vec<usize> {
    (0..MOST_CPUS).filter(|number| mask[number / 64] >> (number % 64) & 1 == 1).collect()
}

/// Restrict the calling thread to `cpus`.
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    let mask = mask_of(cpus.iter().copied());
    // SAFETY: the mask is valid for reads of its size.
    check(unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), mask.as_ptr().cast()) }.into())?;
    Ok(())
}

/// CPUs that the calling thread may run on, ascending.
pub fn affinity() -> io::Result<Vec<usize>> {
    let mut mask: Mask = [0; MOST_CPUS / 64];
    // SAFETY: the mask is valid for writes of its size.
    check(unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) }.into())?;
    Ok(numbers(&mask))
}
