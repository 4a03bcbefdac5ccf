//! A plug-in for QEMU's emulation (TCG) that counts a guest's instructions and calls by kernel function, operation by
//! operation, and the cache lines of a machine model.
//!
//! ```text
//! qemu-system-x86_64 -plugin libschedlab_tcg.so,symbols=FILE,output=FILE[,machine=FILE,guest=SHAPE]
//! ```
//!
//! `symbols` has the address of a kernel function in each line, in hexadecimal, ascending. A program in the guest marks
//! its operations and the time in which its tasks run ([`schedlab_workload::mark`]). The output has a line for each
//! operation: pairs `FUNCTION:INSTRUCTIONS` and `FUNCTION.calls:CALLS`, with the numbers of [`counts::Functions`]. A line that begins with `=` has the
//! sums of the time in which the tasks run. Instructions of all CPUs count. The emulation must run all CPUs on one thread
//! (`thread=single`), as it does with `-icount`.
//!
//! `machine` is a machine model in TOML (`crates/sim/models/machines`). The guest's CPUs take the places of the model's CPUs,
//! and pairs `FUNCTION.SOURCE:ACCESSES` count the accesses to memory by the source of their cache line
//! ([`cache::Source`]).

mod api;
mod cache;
mod counts;
mod instruction;
mod plugin;
