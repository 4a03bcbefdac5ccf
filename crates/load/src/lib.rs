//! `schedload`: runs programs on a real kernel and launches commands under supervision.
//!
//! ```text
//! agent      changes a machine for a controller: journal, trials, files; undoes everything at its end
//! boot       boots of a machine into a kernel under test, and back
//! commands   subcommands: arguments in, text or JSON out; workloads are derived from their definitions
//! executor   a program's tasks as processes and threads of this machine
//! launcher   runs a command with scheduling attributes and servers, reports about it, and kills all its processes at the end
//! noise      a busy loop that finds the interruptions of a CPU, joined with the kernel's trace of their causes
//! output     the JSON documents and texts
//! sys        system calls, and all `unsafe`
//! ```

mod agent;
mod boot;
pub mod commands;
mod error;
mod executor;
mod launcher;
mod limits;
mod noise;
mod output;
mod strays;
mod sys;
