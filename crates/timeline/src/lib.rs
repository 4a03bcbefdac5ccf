//! A simulation as a timeline that Perfetto's viewer (ui.perfetto.dev) opens, written during the simulation.
//!
//! ```text
//! Simulation ─► Timeline: Observer ─► kernel events, a buffer a CPU         cpu.rs ─┐
//!                                 └─► slices of kernel work, a track a CPU    track.rs ─┴─► packets ─► impl Write
//!                                                                           schema.rs
//! ```
//! Tasks appear as kernel events (`sched_switch`, `sched_waking`, `task_newtask`, …), because the viewer derives its CPU
//! tracks, thread states, wake-up arrows and query tables from them. The kernel model's work appears as slices on a track of
//! each CPU.
//!
//! `interruptions.rs` writes the gaps of a measurement on a real kernel with the same packets.
//!
//! Memory use is a buffer for each CPU and two numbers for each live task, for any length of the simulation.

mod cpu;
mod interruptions;
mod packets;
pub mod schema;
mod sink;
mod track;
mod writer;

pub use interruptions::{Gap, Interruptions, write_interruptions};
pub use writer::Timeline;
