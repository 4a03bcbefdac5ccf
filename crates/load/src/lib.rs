//! `schedload`: runs programs on a real kernel and launches commands under supervision.
//!
//! ```text
//! commands   subcommands: arguments in, text or JSON out; workloads are derived from their definitions
//! executor   a program's tasks as processes and threads of this machine
//! launcher   a command with scheduling attributes, servers and a report, of which nothing survives
//! output     the JSON documents and texts
//! sys        system calls, and all `unsafe`
//! ```

pub mod commands;
pub mod error;
pub mod executor;
pub mod launcher;
pub mod limits;
pub mod notation;
pub mod output;
pub mod strays;
pub mod sys;
