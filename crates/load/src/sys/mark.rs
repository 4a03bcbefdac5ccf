//! Marks of a program's operations, see [`schedlab_workload::mark`]. Processors other than x86-64 have no marks.

use schedlab_workload::mark;

/// Mark the beginning of an operation.
#[inline(always)]
pub fn begin() {
    place::<{ mark::BEGIN }>();
}

/// Mark the end of an operation and the beginning of the next operation.
#[inline(always)]
pub fn next() {
    place::<{ mark::NEXT }>();
}

/// Mark the time before the tasks of a program begin.
pub fn from() {
    place::<{ mark::FROM }>();
}

/// Mark the time after the last task has ended.
pub fn to() {
    place::<{ mark::TO }>();
}

#[inline(always)]
#[cfg(target_arch = "x86_64")]
fn place<const MARK: u32>() {
    const NOP: [u8; 3] = mark::NOP;
    // SAFETY: a `nop`, which changes no register, no flag and no memory.
    unsafe {
        std::arch::asm!(
            ".byte {}, {}, {}",
            ".long {}",
            const NOP[0], const NOP[1], const NOP[2], const MARK,
            options(nomem, nostack, preserves_flags),
        );
    }
}

#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
fn place<const MARK: u32>() {}
