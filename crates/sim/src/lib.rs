//! A simulated multi-socket Linux machine that runs the programs of [`schedlab_workload`] in virtual time.
//!
//! ```text
//! Machine ─┐  sockets, nodes, caches, cores, costs
//! Kernel  ─┤  policy, variants, tunables
//! Plan    ─┼─► Simulation ─► Engine ─► Outcome
//! Config  ─┘  seed, tunables, attributes, horizon
//! ```
//! A module uses only those before it; a test of this file reads the imports. Files that extend the engine's `impl` are
//! parts of the engine wherever they lie, next to the state that they change.
//!
//! ```text
//! error       errors
//! shipped     the machines and kernel models of models/
//! time        the clock, timers and the agenda of events
//! table       tables by CPU and by task
//! machine     topology, domains, costs
//! kernel      a kernel model and its tunables
//! ledger      accounts of each CPU's time
//! sched       choice of the task that runs on a CPU: real-time tasks, Cfs, Eevdf, O1; the runqueues
//! vmstat      counters of virtual memory, and the workers that fold them
//! schedstats  the kernel's scheduler statistics
//! observe     counters, histograms, observers, the outcome
//! physics     cold caches, remote memory, bandwidth, SMT
//! balance     which CPU a task runs on: wake-up, fork, exec, periodic and new-idle balancing
//! numa        NUMA balancing: scans, hinting faults, preferred nodes
//! tasks       operations of tasks: messages, locks, children, the start gate
//! engine      events, interrupts, accounting
//! simulation  checks a configuration and runs the engine
//! ```
//! The crate does no I/O, reads no clock and keeps no global state: an outcome is a function of machine, kernel, program
//! and configuration, the same on every platform and in every build. Time is in integer nanoseconds.

mod balance;
mod engine;
pub mod error;
pub mod kernel;
pub mod ledger;
pub mod machine;
mod numa;
pub mod observe;
mod physics;
pub mod sched;
pub mod schedstats;
mod shipped;
mod simulation;
mod table;
mod tasks;
pub mod time;
pub mod vmstat;

pub use error::{SimError, Waiting};
pub use kernel::{Change, Kernel, kernel, kernel_files, kernel_names};
pub use ledger::{Account, Ledger};
pub use machine::{CpuMask, Machine, machine, machine_files, machine_names};
pub use observe::{Birth, End, Observer, Outcome};
pub use simulation::{Config, Simulation};
pub use tasks::{Attributes, Class};

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    /// Modules in the order of this file's list.
    fn order() -> Vec<&'static str> {
        let list =
            include_str!("lib.rs").split("//! ```text").nth(2).unwrap().split("//! ```").next().unwrap();
        list.lines().filter_map(|line| line.strip_prefix("//! ")?.split(' ').next()).collect()
    }

    #[test]
    fn modules_use_only_modules_before_them() {
        let (folder, order) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), order());
        let place = |module: &str| order.iter().position(|other| *other == module);
        for path in sources(&folder) {
            let text = std::fs::read_to_string(&path).unwrap();
            let module = path.strip_prefix(&folder).unwrap().iter().next().unwrap().to_str().unwrap();
            let module = module.trim_end_matches(".rs");
            let extends_engine = text.contains("Engine<'_, ") || text.contains("Engine<'c, ");
            if module == "lib" || extends_engine {
                continue;
            }
            let position = place(module).unwrap_or_else(|| panic!("the list of lib.rs has no {module}"));
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                let Some(rest) = line.split("crate::").nth(1) else { continue };
                let used: String = rest.chars().take_while(|char| char.is_alphanumeric()).collect();
                let before = place(&used).is_some_and(|used| used <= position);
                assert!(before, "{} uses {used}, which does not come before it", path.display());
            }
        }
    }
}
