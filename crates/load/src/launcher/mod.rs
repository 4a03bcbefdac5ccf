//! Execution of a command under supervision. No process of the command survives the launcher, unless the order keeps the
//! processes that the command leaves behind.
//!
//! ```text
//! starter of schedload
//!   └─ front        passes signals on; ends when its starter has gone
//!        └─ supervisor   own session; times the command, stops the servers, kills remaining processes
//!             ├─ server …      own session each
//!             └─ command       own session, with the wanted attributes
//! ```
//! Both front and supervisor adopt orphans, and each kills all remaining processes when the other dies.
//! Processes remain only after a SIGKILL to both at once.

pub mod attributes;
pub mod deadline;
pub mod events;
mod front;
mod memory;
mod order;
mod report;
mod server;
mod start;
mod supervisor;
mod timed;
pub mod wanted;

pub use front::{LAUNCHER_FAILED, launch};
pub use order::Order;
pub use report::MadeWrite;
