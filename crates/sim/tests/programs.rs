//! Every program of the workload library runs on the simulator, with its parameters and metrics.

use schedlab_sim::{Account, Config, End, Outcome, Simulation, kernel, kernel_names, machine};
use schedlab_workload::library::busyloop::BusyLoop;
use schedlab_workload::library::cyclic::Cyclic;
use schedlab_workload::library::forkstorm::Forkstorm;
use schedlab_workload::library::futex::Futex;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::kernbench::Kernbench;
use schedlab_workload::library::pgbench::{Pgbench, Script};
use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::library::rr::Rr;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::library::scripts::Scripts;
use schedlab_workload::library::stream::{Protocol, Stream};
use schedlab_workload::library::tbench::Tbench;
use schedlab_workload::library::wakeup::Wakeup;
use schedlab_workload::library::yielding::Yielding;
use schedlab_workload::program::Mode;
use schedlab_workload::{Plan, Program};

fn simulate(program: Program, machine_name: &str, kernel_name: &str) -> Outcome {
    let plan = Plan::new(program).unwrap();
    let config = Config { horizon_ns: Some(100_000_000_000), ..Config::default() };
    let simulation =
        Simulation::new(machine(machine_name).unwrap(), kernel(kernel_name).unwrap(), plan, config).unwrap();
    simulation.run().unwrap_or_else(|error| panic!("{machine_name}, {kernel_name}: {error}"))
}

/// Run a program under every kernel on two machines, and under Linux 2.5.59 on `numa-q-16`. Every run must finish, give
/// each metric a positive value, and account all CPU time.
fn everywhere(program: Result<Program, schedlab_workload::ParameterError>) {
    let program = program.unwrap();
    everywhere_under(|_| program.clone());
}

/// As [`everywhere`], for a program that depends on the kernel's name.
fn everywhere_under(program_under: impl Fn(&str) -> Program) {
    for machine_name in ["laptop-4", "xeon-e5-2670v3", "numa-q-16"] {
        let fits = |kernel_name: &&str| machine_name != "numa-q-16" || *kernel_name == "linux-2.5.59";
        for kernel_name in kernel_names().filter(fits) {
            let program = program_under(kernel_name);
            let outcome = simulate(program.clone(), machine_name, kernel_name);
            let place = format!("{} on {machine_name} under {kernel_name}", program.name);
            assert_eq!(outcome.end, End::Finished, "{place}");
            for metric in &outcome.metrics {
                let value = metric.value.unwrap_or_else(|| panic!("{place}: {} has no value", metric.name));
                assert!(value.is_finite() && value > 0.0, "{place}: {} = {value}", metric.name);
            }
            let total: u64 = Account::ALL.iter().map(|account| outcome.ledger.total(*account)).sum();
            assert_eq!(
                total,
                outcome.ledger.closed_ns() * outcome.ledger.cpus() as u64,
                "{place}: the ledger's sum"
            );
        }
    }
}

const MS: u64 = 1_000_000;

#[test]
fn times_of_system_calls_vary_around_their_cost() {
    let spent = |spread: u32, seed: u64| {
        let mut machine = machine("laptop-4").unwrap();
        machine.costs.syscall_spread = spread;
        let plan = Plan::new(Pipetest { loops: 2000, ..Pipetest::default() }.program().unwrap()).unwrap();
        let config = Config { seed, ..Config::default() };
        let outcome = Simulation::new(machine, kernel("linux-4.5").unwrap(), plan, config).unwrap().run();
        outcome.unwrap().ledger.total(Account::Syscall)
    };
    let (exact, varied) = (spent(0, 1), spent(87, 1));
    assert_ne!(varied, exact);
    assert_ne!(varied, spent(87, 2));
    assert_eq!(varied, spent(87, 1));
    // The mean of 8000 calls has a standard error of 0.06 %.
    assert!(varied.abs_diff(exact) < exact / 200, "{varied} ns instead of {exact} ns");
}

#[test]
fn hackbench_runs() {
    for (channel, mode) in
        [(Carrier::Pipe, Mode::Process), (Carrier::Socket, Mode::Thread), (Carrier::Inet, Mode::Process)]
    {
        let parameters = Hackbench { groups: 2, fds: 4, loops: 20, channel, mode, ..Hackbench::default() };
        everywhere(parameters.program());
    }
    everywhere(Hackbench { groups: 1, fds: 3, loops: 5, fifo: true, ..Hackbench::default() }.program());
}

#[test]
fn pipetest_runs() {
    everywhere(Pipetest { loops: 300, ..Pipetest::default() }.program());
}

#[test]
fn streams_run() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        everywhere_under(|kernel_name| {
            // Under 2.5.59 a receiver waits on its sender's CPU until another CPU pulls it: its caches are cold after some
            // 25 ms.
            let window = if kernel_name == "linux-2.5.59" { 80 } else { 10 };
            let parameters = Stream {
                protocol,
                size: 1024,
                pairs: 2,
                warmup_ns: MS,
                duration_ns: window * MS,
                ..Stream::default()
            };
            parameters.program().unwrap()
        });
    }
}

#[test]
fn request_and_reply_run() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let parameters = Rr { protocol, pairs: 3, warmup_ns: MS, duration_ns: 20 * MS, ..Rr::default() };
        everywhere(parameters.program());
    }
}

#[test]
fn tbench_runs() {
    everywhere(Tbench { clients: 3, warmup_ns: MS, duration_ns: 40 * MS, ..Tbench::default() }.program());
}

#[test]
fn pgbench_runs() {
    for mode in [Script::ReadOnly, Script::ReadWrite] {
        let parameters = Pgbench {
            clients: 6,
            mode,
            scale: 2,
            flush_ns: 100_000,
            buffers_mib: 16,
            warmup_ns: MS,
            duration_ns: 40 * MS,
            ..Pgbench::default()
        };
        everywhere(parameters.program());
    }
}

#[test]
fn kernbench_runs() {
    let parameters =
        Kernbench { jobs: 6, directories: 3, files: 4, memory_kib: 1024, ..Kernbench::default() };
    everywhere(parameters.program());
}

#[test]
fn schedbench_runs() {
    everywhere(Schedbench { processes: 6, memory_mib: 2, walks: 4, ..Schedbench::default() }.program());
}

/// The load of a workload ends with the workload, and its CPU time counts in no metric.
#[test]
fn a_load_beside_a_workload_slows_it_and_ends_with_it() {
    let wakeup = || Wakeup { warmup_ns: MS, duration_ns: 50 * MS, ..Wakeup::default() }.program().unwrap();
    let load = || Hackbench { groups: 2, ..Hackbench::default() }.program().unwrap();
    let value = |outcome: &Outcome, name: &str| {
        outcome.metrics.iter().find(|metric| metric.name == name).and_then(|metric| metric.value).unwrap()
    };
    let alone = simulate(wakeup(), "laptop-4", "linux-6.12");
    let loaded = simulate(wakeup().beside(load()).unwrap(), "laptop-4", "linux-6.12");
    assert_eq!(loaded.end, End::Finished);
    assert!((51..60).contains(&(loaded.observed.elapsed_ns / MS)), "{} ns", loaded.observed.elapsed_ns);
    let [quiet, busy] = [&alone, &loaded].map(|outcome| value(outcome, "latency-p99"));
    assert!(busy > 5.0 * quiet, "{busy} and {quiet} us");

    let kernbench = || Kernbench { directories: 1, files: 4, ..Kernbench::default() }.program().unwrap();
    let alone = simulate(kernbench(), "laptop-4", "linux-6.12");
    let loaded = simulate(kernbench().beside(load()).unwrap(), "laptop-4", "linux-6.12");
    let [quiet, busy] = [&alone, &loaded].map(|outcome| value(outcome, "elapsed"));
    assert!(busy > 1.2 * quiet, "{busy} and {quiet} s");
    let [quiet, busy] = [&alone, &loaded].map(|outcome| value(outcome, "system"));
    assert!(busy < 1.5 * quiet, "{busy} and {quiet} s of system time");
}

/// Without a load, schedbench has no start gate: its time begins with the program.
#[test]
fn a_load_gives_schedbench_no_start_gate() {
    let schedbench = || Schedbench { memory_mib: 2, walks: 4, ..Schedbench::default() }.program().unwrap();
    let load = Pipetest::default().program().unwrap();
    for program in [schedbench(), schedbench().beside(load).unwrap()] {
        let observed = simulate(program, "laptop-4", "linux-6.12").observed;
        assert_eq!(observed.elapsed_ns, observed.lifetime_ns);
    }
}

#[test]
fn disturbance_of_schedbench_costs_no_metric_its_time() {
    let run = |disturbance: u32| {
        let schedbench = Schedbench {
            memory_mib: 8,
            walks: 4,
            disturbance,
            disturbance_after_ns: MS,
            ..Schedbench::default()
        };
        simulate(schedbench.program().unwrap(), "numa-q-16", "linux-2.5.59")
    };
    let (alone, disturbed) = (run(0), run(1));
    assert!(disturbed.counters.messages > 40_000, "{}", disturbed.counters.messages);
    let value = |outcome: &Outcome, name: &str| {
        outcome.metrics.iter().find(|metric| metric.name == name).and_then(|metric| metric.value).unwrap()
    };
    let all = disturbed.ledger.total(Account::Syscall) as f64 / 1e9;
    assert!(value(&disturbed, "TotalSys") < all / 2.0, "{} of {all} s", value(&disturbed, "TotalSys"));
    let per_task = value(&disturbed, "TotalUser") / value(&disturbed, "AvgUser");
    assert!((per_task - 4.0).abs() < 1e-6, "{per_task} tasks");
    assert!(value(&disturbed, "Elapsed") > value(&alone, "Elapsed"));
}

#[test]
fn scripts_run() {
    everywhere(Scripts { streams: 5, scripts: 4, seed: 1 }.program());
}

#[test]
fn wakeup_runs() {
    let parameters =
        Wakeup { messages: 2, workers: 5, warmup_ns: MS, duration_ns: 20 * MS, ..Wakeup::default() };
    everywhere(parameters.program());
}

#[test]
fn cyclic_runs() {
    // The timer slack is longer than the intervals, so that ordinary threads miss intervals.
    let parameters =
        Cyclic { threads: 3, interval_ns: 20_000, distance_ns: 1000, warmup_ns: MS, duration_ns: 20 * MS };
    everywhere(parameters.program());
}

#[test]
fn yielding_runs() {
    everywhere(Yielding { tasks: 9, warmup_ns: MS, duration_ns: 10 * MS, ..Yielding::default() }.program());
}

#[test]
fn futex_runs() {
    everywhere(Futex { pairs: 3, warmup_ns: MS, duration_ns: 20 * MS, ..Futex::default() }.program());
}

#[test]
fn busyloop_runs() {
    everywhere(BusyLoop { tasks: 3, warmup_ns: MS, duration_ns: 30 * MS, ..BusyLoop::default() }.program());
}

#[test]
fn forkstorm_runs() {
    for exec in [false, true] {
        everywhere(Forkstorm { tasks: 3, exec, warmup_ns: MS, duration_ns: 30 * MS }.program());
    }
}
