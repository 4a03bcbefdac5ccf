//! What is done with a text that may be anything: it is read, and simulated for a moment where it is accepted. Whatever it
//! is, there has to be a result or an error. The targets of cargo-fuzz and a seeded test of the simulator share this.

use schedlab_sim::{Config, Kernel, Machine, SimError, Simulation, kernel, machine};
use schedlab_workload::library::hackbench::Hackbench;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::{Plan, Program, rtapp};

/// Virtual time that is simulated at most.
const HORIZON_NS: u64 = 3_000_000;

/// A program with more tasks is read and checked, but not simulated: that would find the same, slowly.
const MOST_TASKS: u32 = 500;

/// A workload in rt-app's JSON. True if it was simulated, as of the other bodies.
pub fn rtapp(text: &str) -> bool {
    let Ok(reading) = rtapp::read("fuzz", text, None) else { return false };
    let Ok(plan) = Plan::new(reading.program) else { return false };
    if plan.task_count() > MOST_TASKS {
        return false;
    }
    let name = ["linux-2.5.59", "linux-5.14", "linux-6.12"][text.len() % 3];
    run(machine("laptop-4").unwrap(), kernel(name).unwrap(), plan)
}

/// A machine file.
pub fn machine_file(text: &str) -> bool {
    let Ok(machine) = Machine::from_toml(text) else { return false };
    let name = ["linux-2.5.59", "linux-5.14", "linux-6.12"][text.len() % 3];
    let simulate = |program| run(machine.clone(), kernel(name).unwrap(), Plan::new(program).unwrap());
    programs().map(simulate).iter().all(|done| *done)
}

/// A kernel file.
pub fn kernel_file(text: &str) -> bool {
    let Ok(kernel) = Kernel::from_toml(text) else { return false };
    let simulate = |program| run(machine("laptop-4").unwrap(), kernel.clone(), Plan::new(program).unwrap());
    programs().map(simulate).iter().all(|done| *done)
}

/// Messages with locks and wake-ups, and memory with forks of its own.
fn programs() -> [Program; 2] {
    let messages = Hackbench { groups: 1, fds: 3, loops: 5, ..Default::default() };
    let memory = Schedbench { processes: 3, memory_mib: 1, walks: 2, ..Default::default() };
    [messages.program().unwrap(), memory.program().unwrap()]
}

/// Whether a simulation began.
fn run(machine: Machine, kernel: Kernel, plan: Plan) -> bool {
    let config = Config { horizon_ns: Some(HORIZON_NS), ..Config::default() };
    let Ok(simulation) = Simulation::new(machine, kernel, plan, config) else { return false };
    match simulation.run() {
        Ok(outcome) => {
            let closed = outcome.ledger.closed_ns();
            let sums = |cpu| outcome.ledger.cpu_total(cpu) == closed;
            assert!((0..outcome.ledger.cpus()).all(sums), "the ledger sums to its end");
        }
        Err(SimError::Deadlock { waiting, .. }) => assert!(!waiting.is_empty(), "somebody waits"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    true
}
