//! What a virtual machine adds to a machine: senders that pay for interrupts, and noise.

use std::collections::BTreeMap;

use schedlab_sim::machine::Noise;
use schedlab_sim::{Account, Attributes, Config, Machine, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::busyloop::BusyLoop;
use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::program::Program;

const MS: u64 = 1_000_000;

fn pipes() -> Program {
    Pipetest { loops: 500, ..Pipetest::default() }.program().unwrap()
}

/// A machine whose CPUs are woken by interrupts, as those of most virtual machines.
fn guest() -> Machine {
    Machine { mwait: false, ..machine("laptop-4").unwrap() }
}

fn run(machine: Machine, kernel_name: &str, program: Program, cpus: Option<usize>) -> Outcome {
    let bound = Attributes { cpus: cpus.map(|cpu| [cpu].into_iter().collect()), ..Attributes::default() };
    let plan = Plan::new(program).unwrap();
    let groups: BTreeMap<_, _> =
        plan.program().groups.iter().map(|group| (group.name.clone(), bound.clone())).collect();
    let config = Config { groups, ..Config::default() };
    Simulation::new(machine, kernel(kernel_name).unwrap(), plan, config).unwrap().run().unwrap()
}

/// Each interrupt that wakes an idle CPU costs its sender `ipi_send`, and nothing else changes.
#[test]
fn senders_pay_for_their_interrupts() {
    let mut paying = guest();
    paying.costs.ipi_send = 3000;
    let (free, paid) =
        (run(guest(), "linux-6.12", pipes(), None), run(paying.clone(), "linux-6.12", pipes(), None));
    let more = paid.ledger.total(Account::Ipi) - free.ledger.total(Account::Ipi);
    let each = more as f64 / paid.counters.ipis as f64;
    assert!(
        paid.counters.ipis > 900 && free.counters.ipis > 900,
        "two wake-ups of another CPU in each round"
    );
    assert!((2900.0..3100.0).contains(&each), "{each}");
    assert!(
        paid.observed.elapsed_ns > free.observed.elapsed_ns + 500 * 2 * 2000,
        "senders lose the time, and save the work of enqueueing"
    );
    let bound =
        [guest(), paying].map(|machine| run(machine, "linux-6.12", pipes(), Some(1)).observed.elapsed_ns);
    assert!(bound[1] - bound[0] < 20 * 3000, "no interrupts on one CPU, but of the tasks' start");
}

/// Noise takes its lengths at its rate from a busy CPU, and nothing from idle CPUs.
#[test]
fn noise_interrupts_busy_cpus() {
    let program =
        || BusyLoop { warmup_ns: 0, duration_ns: 400 * MS, ..BusyLoop::default() }.program().unwrap();
    let noise = Noise { mean_interval_ns: 2 * MS, lengths_ns: vec![100_000, 300_000] };
    let noisy = Machine { noise: Some(noise), ..guest() };
    let (quiet, noisy) =
        (run(guest(), "linux-6.12", program(), None), run(noisy, "linux-6.12", program(), None));
    assert_eq!(quiet.ledger.total(Account::Noise), 0);
    // 200 interruptions of 200 µs on average, on the only busy CPU.
    let taken = noisy.ledger.total(Account::Noise) as f64 / 40e6;
    assert!((0.75..1.25).contains(&taken), "{taken}");
}

#[test]
fn noise_without_lengths_is_refused() {
    let wrong = Machine { noise: Some(Noise { mean_interval_ns: MS, lengths_ns: vec![] }), ..guest() };
    assert!(wrong.check().unwrap_err().to_string().contains("noise"));
}
