//! A plug-in for QEMU's emulation (TCG) that counts a guest's instructions by kernel function, operation by operation.
//!
//! ```text
//! qemu-system-x86_64 -plugin libschedlab_tcg.so,symbols=FILE,output=FILE
//! ```
//!
//! `symbols` has the address of a kernel function in each line, in hexadecimal, ascending. A program in the guest marks
//! its operations ([`schedlab_workload::mark`]). The output has a line for each
//! operation: pairs `FUNCTION:INSTRUCTIONS`, with the numbers of [`counts::Counts`]. Instructions of all CPUs count.
//! The emulation must run all CPUs on one thread (`thread=single`), as it does with `-icount`.

mod api;
mod counts;
mod plugin;
