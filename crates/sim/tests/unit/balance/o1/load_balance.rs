use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::CpuIdleType;
use crate::engine::Engine;
use crate::machine::CpuMask;
use crate::sched::O1;
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// The busiest of CPUs with these numbers of tasks and the number to take, for CPU 0, which also had `previous` tasks at its
/// last pass.
fn busiest(running: &[u32], previous: &[u32], idle: CpuIdleType) -> Option<(usize, u32)> {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("numa-q-16").unwrap(), kernel("linux-2.5.59").unwrap());
    let simulation = Simulation::new(machine, kernel, plan, Config::default()).unwrap();
    simulation.with_engine_of(|engine: &mut Engine<'_, O1, ()>| {
        running.iter().enumerate().for_each(|(cpu, number)| engine.rq.nr_running[cpu] = *number);
        engine.rq.queues[0].balance.nr_running = previous.to_vec();
        engine.find_busiest_queue_o1(0, &CpuMask::first_cpus(running.len()), idle)
    })
}

#[test]
fn a_busy_cpu_takes_half_of_an_imbalance_of_at_least_a_quarter() {
    let steady = |running: &[u32]| busiest(running, running, CpuIdleType::Busy);
    // Half of the difference is 4, and a quarter of 9 tasks is 3.
    assert_eq!(steady(&[1, 9, 5]), Some((1, 4)));
    assert_eq!(steady(&[1, 5, 9]), Some((2, 4)));
    // Half of the difference is a quarter of 8 tasks; below a quarter nothing moves.
    assert_eq!((steady(&[4, 8]), steady(&[5, 8])), (Some((1, 2)), None));
    assert_eq!((steady(&[0, 1]), steady(&[3, 3]), steady(&[9, 3])), (None, None, None));
}

#[test]
fn a_busy_cpu_takes_the_lesser_length_of_another_queue_and_the_greater_of_its_own() {
    assert_eq!(busiest(&[1, 9], &[1, 5], CpuIdleType::Busy), Some((1, 2)));
    assert_eq!(busiest(&[1, 9], &[1, 1], CpuIdleType::Busy), None);
    assert_eq!(busiest(&[1, 9], &[5, 9], CpuIdleType::Busy), None);
    assert_eq!(busiest(&[1, 9], &[3, 9], CpuIdleType::Busy), Some((1, 3)));
}

#[test]
fn an_idle_cpu_takes_a_single_task_whatever_the_lengths_were() {
    for idle in [CpuIdleType::Idle, CpuIdleType::Newidle] {
        assert_eq!(busiest(&[0, 9, 10], &[8, 0, 0], idle), Some((2, 1)));
        assert_eq!(busiest(&[0, 2], &[0, 2], idle), Some((1, 1)));
        assert_eq!((busiest(&[0, 1], &[0, 1], idle), busiest(&[0, 0], &[0, 9], idle)), (None, None));
    }
}
