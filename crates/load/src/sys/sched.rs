//! Scheduling attributes: policy, priority, nice value, slice, CPU set.

use std::io;
use std::mem::{MaybeUninit, size_of};

use super::check;

/// `struct sched_attr` with the utilisation clamps of Linux 5.3 (sched_setattr(2)); an older kernel takes it where they are 0.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Bytes of the structure; set when it is handed to the kernel.
    pub size: u32,
    /// `SCHED_*`.
    pub policy: u32,
    /// `SCHED_FLAG_*`.
    pub flags: u64,
    /// Nice value of SCHED_OTHER and SCHED_BATCH.
    pub nice: i32,
    /// Priority of SCHED_FIFO and SCHED_RR.
    pub priority: u32,
    /// For SCHED_OTHER and SCHED_BATCH: the slice in nanoseconds, since Linux 6.12.
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

impl Attributes {
    /// Attributes with a policy and its parameters.
    pub fn new(policy: u32, nice: i32, priority: u32, runtime: u64) -> Self {
        Self { policy, nice, priority, runtime, ..Self::default() }
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

/// Sets the attributes of the calling thread.
pub fn set_attributes(attributes: Attributes) -> io::Result<()> {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    // SAFETY: the structure is valid and states its size.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })?;
    Ok(())
}

/// Flag: `util_min` counts (`SCHED_FLAG_UTIL_CLAMP_MIN`, sched_setattr(2)).
pub const UTIL_MIN: u64 = 0x20;

/// Flag: `util_max` counts (`SCHED_FLAG_UTIL_CLAMP_MAX`, sched_setattr(2)).
pub const UTIL_MAX: u64 = 0x40;

/// Makes new memory of the calling thread come from `nodes` only (`MPOL_BIND`, set_mempolicy(2)).
pub fn bind_memory(nodes: &[u32]) -> io::Result<()> {
    let mut mask = [0u64; MAX_CPUS / 64];
    for node in nodes.iter().filter(|node| (**node as usize) < MAX_CPUS) {
        mask[*node as usize / 64] |= 1 << (node % 64);
    }
    // SAFETY: the mask is valid for reads of one bit more than its last node, which is how the kernel counts.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), MAX_CPUS + 1) })?;
    Ok(())
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Puts the calling thread under SCHED_FIFO.
pub fn become_fifo(priority: u32) -> io::Result<()> {
    set_attributes(Attributes::new(libc::SCHED_FIFO as u32, 0, priority, 0))
}

/// CPUs that a CPU set of this program can name (`CPU_SETSIZE`, sched_setaffinity(2)).
pub const MAX_CPUS: usize = libc::CPU_SETSIZE as usize;

/// Restricts the calling thread to `cpus`, each below [`MAX_CPUS`].
pub fn set_affinity(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero set is valid; the callers keep numbers below CPU_SETSIZE, which CPU_SET also checks.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    check(result.into())?;
    Ok(())
}

/// CPUs that the calling thread may run on, ascending.
pub fn affinity() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero set is valid, and is valid for writes of its size.
    let (result, set) = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), set)
    };
    check(result.into())?;
    // SAFETY: the numbers are below CPU_SETSIZE.
    Ok((0..MAX_CPUS).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}
