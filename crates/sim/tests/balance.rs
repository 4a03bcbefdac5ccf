//! Rules of periodic balancing that depend on failed passes: active balancing, and cache-hot tasks.

use schedlab_sim::observe::Counters;
use schedlab_sim::{Account, Config, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::program::{
    Attributes, Mode, Op, Program, Quantity, TaskGroup, Window, compute, group, lower, within_window,
};

const MS: u64 = 1_000_000;
const KERNELS: [&str; 3] = ["linux-4.5", "linux-5.14", "linux-6.12"];

fn on(cpus: &[u32]) -> Op {
    Op::Set { attributes: Attributes { cpus: Some(cpus.to_vec()), ..Attributes::default() } }
}

/// Tasks that compute for `window_ms`. Each task first runs on its CPU of `cpus`, and later on any CPU.
fn hogs(cpus: &[u32], window_ms: u64) -> Program {
    let hog = |(number, cpu): (usize, &u32)| -> TaskGroup {
        let body = vec![on(&[*cpu]), compute(200_000u64), on(&[]), within_window(vec![compute(100_000u64)])];
        group(&format!("hog-{number}"), 1, Mode::Process, body)
    };
    Program {
        window: Some(Window::new(0, window_ms * MS).unwrap()),
        groups: cpus.iter().enumerate().map(hog).collect(),
        metrics: vec![lower("elapsed", "s", Quantity::Elapsed, 1.0)],
        ..Program::named("test")
    }
}

/// Run a program with scheduler statistics on the CPUs that are not `isolated`; an empty list isolates none.
fn run(machine_name: &str, kernel_name: &str, program: Program, isolated: &str, cost: i64) -> Outcome {
    let isolcpus = if isolated.is_empty() { String::new() } else { format!("isolcpus={isolated}") };
    let config = Config {
        command_line: format!("schedstats=enable {isolcpus}"),
        tunables: vec![("sched.migration_cost_ns".to_owned(), cost)],
        ..Config::default()
    };
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap().run().unwrap()
}

/// Failed and successful passes by idle CPUs, and the number of migrations.
fn idle_passes(counters: &Counters) -> (u64, u64, u64) {
    let idle = &counters.idle_balance;
    (idle.failed, idle.moved, counters.balance_migrations.iter().sum())
}

#[test]
fn an_idle_core_takes_a_running_task_from_a_full_core_after_three_failed_passes() {
    // CPUs 0 and 4 are siblings, and CPUs 1 and 5 are the other core. cache_nice_tries is 1, so that the fourth failed pass
    // exceeds cache_nice_tries + 2 and moves the running task.
    for kernel_name in KERNELS {
        let outcome = run("i7-3770", kernel_name, hogs(&[0, 4], 400), "2,3,6,7", 500_000);
        assert_eq!(idle_passes(&outcome.counters), (3, 1, 1), "{kernel_name}");
        let report = outcome.schedstats.as_ref().unwrap();
        let counts = &report.cpus[1].domains[1].counts;
        assert_eq!((counts.alb_count, counts.alb_pushed, counts.alb_failed), (1, 1, 0), "{kernel_name}");
        // The kernel counts the pass of a push as failed, and no pass has pulled a waiting task.
        assert_eq!((counts.passes[1].lb_failed, counts.passes[1].lb_gained), (4, 0), "{kernel_name}");
        let pushed: u64 = outcome.tasks.iter().map(|task| task.migrations).sum();
        let short = run("i7-3770", kernel_name, hogs(&[0, 4], 2), "2,3,6,7", 500_000);
        let before: u64 = short.tasks.iter().map(|task| task.migrations).sum();
        assert_eq!(pushed, before + 1, "{kernel_name}");
        // After the push the tasks hardly slow each other: only the main task shares a core with them.
        let longer = run("i7-3770", kernel_name, hogs(&[0, 4], 800), "2,3,6,7", 500_000);
        let slowed = |outcome: &Outcome| outcome.ledger.total(Account::Smt);
        assert!(slowed(&longer) - slowed(&outcome) < MS / 10, "{kernel_name}");
    }
}

#[test]
fn a_cache_hot_task_moves_after_two_failed_passes() {
    // Two tasks on CPU 0, and for 30 ms a task on CPU 1, until both may leave CPU 0. Every task is cache-hot.
    // cache_nice_tries of the cache's domain is 1, so that the third pass moves the waiting task.
    for kernel_name in KERNELS {
        let mut program = hogs(&[0, 0], 400);
        let short = vec![on(&[1]), compute(30 * MS)];
        program.groups.push(group("short", 1, Mode::Process, short));
        let outcome = run("laptop-4", kernel_name, program.clone(), "2,3", -1);
        assert_eq!(idle_passes(&outcome.counters), (2, 1, 1), "{kernel_name}");
        // Each of the failed passes refuses the waiting task, and each pass may refuse the main task beside it.
        assert!((2..=5).contains(&outcome.counters.idle_balance.hot), "{kernel_name}");
        let never_hot = run("laptop-4", kernel_name, program, "2,3", 0).counters;
        assert_eq!((never_hot.idle_balance.failed, never_hot.newidle_balance.hot), (0, 0), "{kernel_name}");
        assert!(never_hot.newidle_balance.moved > 0, "{kernel_name}");
    }
}

#[test]
fn passes_become_rare_while_a_domain_is_balanced_or_another_cpu_balances() {
    // A task on each of four CPUs. CPU 0 balances for all. The interval of the domain of four CPUs is 4 ms, times busy_factor, and
    // doubles once: 64, then 128 ms under 6.12, 128, then 256 ms under 4.5.
    for (kernel_name, interval_ms) in [("linux-6.12", 128), ("linux-4.5", 256)] {
        let outcome = run("laptop-4", kernel_name, hogs(&[0, 1, 2, 3], 2560), "", 500_000);
        let report = outcome.schedstats.as_ref().unwrap();
        for cpu in &report.cpus {
            let busy = &cpu.domains[0].counts.passes[0];
            assert!(
                busy.lb_count.abs_diff(2560 / interval_ms) <= 2,
                "{kernel_name}: {} passes",
                busy.lb_count
            );
        }
    }
}
