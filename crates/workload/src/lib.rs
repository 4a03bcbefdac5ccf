//! Programs: one definition of a workload for a real kernel and for a simulated kernel.
//!
//! A [`Program`] is plain data (JSON in and out): the resources that tasks share, and the tasks, whose bodies are
//! lists of [`Op`]. A program passes through the crate in one direction:
//!
//! ```text
//! library::*  ──►  Program  ──►  check  ──►  Plan (tasks and resources, numbered)
//!  parameters        JSON                      │
//!                                              ▼  one task
//!                                     code: Cursor ──► Step, Step, Step, …   performed by an executor
//!                                              │
//!                                              ▼  observations
//!                                     measure: metrics with unit and direction
//! ```
//!
//! Control flow, arithmetic and random choices happen here, in [`Cursor`], so that every executor performs the same
//! steps; an executor only performs one [`Step`]. Nothing in this crate does I/O, reads a clock or keeps
//! global state: the steps of a task are a function of the program, its seed, the task's identity, the times
//! and the ends of streams that its executor reports.

pub mod check;
pub mod code;
pub mod cpulist;
pub mod duration;
pub mod error;
pub mod library;
pub mod mark;
pub mod measure;
pub mod plan;
pub mod program;
pub mod rtapp;

pub use code::{Cursor, Frequent, Step};
pub use error::{ParameterError, ProgramError};
pub use plan::{Plan, TaskId};
pub use program::{Op, Program};
