//! Workloads: each a function from a parameter struct to a [`crate::Program`].

pub mod hackbench;
pub mod pipetest;
