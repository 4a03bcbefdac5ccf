//! Bodies of the fuzz targets: each parses an arbitrary text and, if the text is valid, simulates it for a few
//! milliseconds. Every text must give a result or an error. The targets of cargo-fuzz and `crates/sim/tests/fuzz.rs` share
//! these bodies.

use schedlab_sim::{Config, Kernel, Machine, SimError, Simulation, kernel, machine};
use schedlab_workload::library::hackbench::Hackbench;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::{Plan, Program, rtapp};

/// Maximum virtual time of a simulation.
const HORIZON_NS: u64 = 3_000_000;

/// Maximum number of tasks of a simulated program. Larger programs are only parsed and checked: simulating them is slow
/// and covers the same code.
const MOST_TASKS: u32 = 500;

/// Fuzz a workload in rt-app's JSON; return whether the workload was simulated. All bodies return this.
pub fn rtapp(text: &str) -> bool {
    let Ok(reading) = rtapp::read("fuzz", text, None) else { return false };
    let Ok(plan) = Plan::new(reading.program) else { return false };
    if plan.task_count() > MOST_TASKS {
        return false;
    }
    let name = ["linux-2.5.59", "linux-5.14", "linux-6.12"][text.len() % 3];
    run(machine("laptop-4").unwrap(), kernel(name).unwrap(), plan)
}

/// Fuzz a machine file.
pub fn machine_file(text: &str) -> bool {
    let Ok(machine) = Machine::from_toml(text) else { return false };
    let name = ["linux-2.5.59", "linux-5.14", "linux-6.12"][text.len() % 3];
    let simulate = |program| run(machine.clone(), kernel(name).unwrap(), Plan::new(program).unwrap());
    programs().map(simulate).iter().all(|simulated| *simulated)
}

/// Fuzz a kernel file.
pub fn kernel_file(text: &str) -> bool {
    let Ok(kernel) = Kernel::from_toml(text) else { return false };
    let simulate = |program| run(machine("laptop-4").unwrap(), kernel.clone(), Plan::new(program).unwrap());
    programs().map(simulate).iter().all(|simulated| *simulated)
}

/// A program with messages, locks and wake-ups, and a program with memory and forks.
fn programs() -> [Program; 2] {
    let messages = Hackbench { groups: 1, fds: 3, loops: 5, ..Default::default() };
    let memory = Schedbench { processes: 3, memory_mib: 1, walks: 2, ..Default::default() };
    [messages.program().unwrap(), memory.program().unwrap()]
}

/// Simulate a plan; return whether the simulation was started.
fn run(machine: Machine, kernel: Kernel, plan: Plan) -> bool {
    let config = Config { horizon_ns: Some(HORIZON_NS), ..Config::default() };
    let Ok(simulation) = Simulation::new(machine, kernel, plan, config) else { return false };
    match simulation.run() {
        Ok(outcome) => {
            let closed = outcome.ledger.closed_ns();
            let sums = |cpu| outcome.ledger.cpu_total(cpu) == closed;
            assert!((0..outcome.ledger.cpus()).all(sums), "the ledger of each CPU sums to the end time");
        }
        Err(SimError::Deadlock { waiting, .. }) => {
            assert!(!waiting.is_empty(), "a deadlock names waiting tasks")
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    true
}
