//! Interruptions of a program's CPUs in plain values.

use schedlab_sim::{Interruptions, Simulation};

type Ns = u64;

/// Start and end of the program's window, and each interruption in it: CPU, start, and parts as (cause, length).
pub type Plain = (Ns, Ns, Vec<(usize, Ns, Vec<(&'static str, Ns)>)>);

/// Observer of these CPUs in the program's window, or in the complete simulation of a program without a window.
pub fn observer(simulation: &Simulation, cpus: &[usize]) -> Interruptions {
    let (from, until) = window(simulation);
    Interruptions::new(cpus, from, until)
}

/// The observed interruptions.
pub fn plain(simulation: &Simulation, observer: Interruptions) -> Plain {
    let (from, until) = window(simulation);
    let all = observer.into_all().into_iter().map(|each| {
        let parts = each.parts.iter().map(|part| (part.cause.name(), part.ns)).collect();
        (each.cpu, each.at, parts)
    });
    (from, until, all.collect())
}

fn window(simulation: &Simulation) -> (Ns, Ns) {
    simulation.plan().program().window.map_or((0, Ns::MAX), |window| (window.warmup_ns, window.end_ns()))
}
