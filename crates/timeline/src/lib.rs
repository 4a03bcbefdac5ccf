//! A simulation as a timeline that Perfetto's viewer (ui.perfetto.dev) opens, written while it runs.
//!
//! ```text
//! Simulation ─► Timeline: Observer ─► the kernel's own events, a buffer a CPU   cpu.rs ─┐
//!                                 └─► slices of kernel work, a track a CPU    track.rs ─┴─► packets ─► impl Write
//!                                                                           schema.rs
//! ```
//! Tasks are told in the kernel's own events (`sched_switch`, `sched_waking`, `task_newtask`, …), because the viewer makes
//! of those its CPU tracks, the states of threads, the arrows of wake-ups and the tables for queries. What the kernel model
//! spends time on is told as slices on a track of each CPU.
//!
//! What is kept in memory is a buffer for each CPU and two numbers for each task alive, however long the simulation is.

mod cpu;
pub mod schema;
mod track;
mod writer;

pub use writer::Timeline;
