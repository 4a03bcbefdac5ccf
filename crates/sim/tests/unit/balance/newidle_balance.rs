use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use crate::engine::NewidleStats;
use crate::time::{MS, SECOND};
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// Run the body with an engine two seconds after boot: CPU 1 is idle, and no CPU has more than one task.
macro_rules! about_to_idle {
    ($machine:literal, $kernel:literal, |$engine:ident| $body:block) => {{
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine($machine).unwrap(), kernel($kernel).unwrap());
        let simulation = Simulation::new(machine, kernel, plan, Config::default()).unwrap();
        #[allow(unused_mut, reason = "some bodies only read")]
        simulation.with_engine(|mut $engine| {
            $engine.boot();
            $engine.time.now = 2 * SECOND;
            $body
        });
    }};
}

#[test]
fn overload_flag_is_cleared_only_by_a_pass_over_the_widest_domain() {
    // 4 nodes: the widest domain of a CPU is its third level or higher.
    about_to_idle!("kunpeng920", "linux-6.12", |engine| {
        let levels = engine.cpus[1].domains.len();
        assert!(levels >= 3);
        let calls = |engine: &crate::engine::Engine<'_, _, _>| engine.records.counters.newidle_balance.calls;
        // The flag is clear: there is no pass.
        engine.rq.overload = false;
        engine.newidle_balance(1);
        assert_eq!((calls(engine), engine.records.counters.newidle_skipped), (0, 1));
        // The flag is set: there is a pass on each level, and the last pass clears the flag.
        engine.rq.overload = true;
        engine.newidle_balance(1);
        assert_eq!((calls(engine), engine.rq.overload), (levels as u64, false));
        // Balancing that stops below the last level leaves the flag set.
        engine.rq.overload = true;
        engine.cpus[1].domains[levels - 1].max_newidle_lb_cost = 10 * SECOND;
        engine.newidle_balance(1);
        assert_eq!((calls(engine), engine.rq.overload), (2 * levels as u64 - 1, true));
    });
}

#[test]
fn cpu_that_becomes_idle_uses_the_intervals_of_idle_cpus() {
    about_to_idle!("laptop-4", "linux-5.14", |engine| {
        // The CPU was busy, so its next balancing is 16 intervals of 4 ms away.
        let cpu = &mut engine.cpus[1];
        (cpu.domains[0].last_balance, cpu.domains[0].interval) = (2 * SECOND, 4 * MS);
        cpu.next_balance = 2 * SECOND + 64 * MS;
        engine.newidle_balance(1);
        assert_eq!(engine.cpus[1].next_balance, 2 * SECOND + 4 * MS);
    });
}

#[test]
fn max_newidle_cost_decays_by_three_256ths_each_second() {
    about_to_idle!("laptop-4", "linux-6.12", |engine| {
        assert!(!engine.update_newidle_cost(1, 0, 25_600));
        engine.time.now += SECOND;
        assert!(!engine.update_newidle_cost(1, 0, 25_600), "not yet");
        engine.time.now += 1;
        assert!(engine.update_newidle_cost(1, 0, 0));
        assert_eq!(engine.cpus[1].domains[0].max_newidle_lb_cost, 25_300);
        assert!(!engine.update_newidle_cost(1, 0, 0), "once a second");
    });
}

#[test]
fn new_idle_passes_are_as_frequent_as_they_succeed() {
    // 512 passes without success count. Each 512 further passes give a new ratio, and older passes count half.
    let mut stats = NewidleStats::idle(false);
    assert_eq!((stats.ratio, NewidleStats::idle(true).ratio), (0, 1024));
    let mut count = |passes: u32, success: u32, by_rate: bool, now| {
        (0..passes).for_each(|_| stats.count(success, by_rate, now));
        stats.ratio
    };
    assert_eq!(count(511, 1, false, SECOND), 0, "no new ratio yet");
    assert_eq!(count(1, 1, false, SECOND), 512);
    assert_eq!(count(512, 0, false, SECOND), 256);
    assert_eq!(count(512, 1, false, SECOND), 128 + 512);
    assert_eq!(count(512, 8, false, SECOND), 1024, "at most all passes");
    // Rare passes take place although they do not succeed: 2 s for 512 passes are 476 units of 4.2 ms.
    (0..12).for_each(|_| _ = count(512, 0, true, 3 * SECOND));
    assert_eq!(count(512, 0, true, 5 * SECOND), 476);
}

#[test]
fn a_success_counts_for_the_skipped_passes_too() {
    about_to_idle!("laptop-4", "linux-6.18", |engine| {
        let successes = |engine: &mut crate::engine::Engine<'_, _, _>, ratio| {
            engine.cpus[1].domains[0].newidle.ratio = ratio;
            (0..20_000).find_map(|_| engine.newidle_weight(1, 0))
        };
        // 1 of 16 passes runs, then half of the passes, then every pass.
        assert_eq!([63, 511, 1024].map(|ratio| successes(engine, ratio)), [Some(16), Some(2), Some(1)]);
    });
}

#[test]
fn a_domain_without_success_is_seldom_visited() {
    let calls = |kernel: &str, ratio| {
        let mut passes = 0;
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let model = crate::kernel(kernel).unwrap();
        let simulation =
            Simulation::new(machine("laptop-4").unwrap(), model, plan, Config::default()).unwrap();
        simulation.with_engine(|engine| {
            engine.boot();
            engine.time.now = 2 * SECOND;
            engine.cpus[1].domains[0].newidle.ratio = ratio;
            for _ in 0..400 {
                engine.rq.overload = true;
                engine.newidle_balance(1);
            }
            passes = engine.records.counters.newidle_balance.calls;
        });
        passes
    };
    assert_eq!((calls("linux-6.12", 0), calls("linux-7.2", 1024)), (400, 400));
    // Chances of 2 and of 258 in 1024.
    assert!(calls("linux-6.18", 0) <= 10);
    assert!((60..=140).contains(&calls("linux-6.18", 256)), "{}", calls("linux-6.18", 256));
}
