//! Lateness of timers, by the workload cyclic, compared with figures computed by hand.

use schedlab_sim::{Attributes, Class, Config, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::cyclic::Cyclic;
use schedlab_workload::program::{Mode, Program, compute, group, within_window};

const MS: u64 = 1_000_000;

/// Timer slack of ordinary tasks (prctl(2), `PR_SET_TIMERSLACK`).
const SLACK_NS: u64 = 50_000;

const FIFO: Class = Class::Fifo(80);

fn program(threads: u32, duration_ns: u64) -> Program {
    Cyclic { threads, warmup_ns: 10 * MS, duration_ns, ..Cyclic::default() }.program().unwrap()
}

/// Run cyclic on CPU 1 of `laptop-4`, its threads in `class`, other groups in the ordinary class on the same CPU.
fn run(program: Program, class: Class, samples: usize) -> Outcome {
    let on = |class| Attributes { class, cpus: Some([1].into_iter().collect()), ..Attributes::default() };
    let ordinary = Class::default();
    let class_of = |name: &str| if name == "thread" { class } else { ordinary };
    let groups = program.groups.iter().map(|group| (group.name.clone(), on(class_of(&group.name))));
    let config = Config { groups: groups.collect(), samples, ..Config::default() };
    let plan = Plan::new(program).unwrap();
    Simulation::new(machine("laptop-4").unwrap(), kernel("linux-6.12").unwrap(), plan, config)
        .unwrap()
        .run()
        .unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    let measured = outcome.metrics.iter().find(|metric| metric.name == name);
    measured.and_then(|metric| metric.value).unwrap_or_else(|| panic!("{name} in {:?}", outcome.metrics))
}

fn beside_a_hog() -> Program {
    let mut program = program(1, 1000 * MS);
    program.groups.push(group("hog", 1, Mode::Process, vec![within_window(vec![compute(100_000u64)])]));
    program
}

#[test]
fn lateness_on_an_idle_cpu_is_the_sum_of_the_costs_up_to_the_first_reading_of_the_clock() {
    let machine = machine("laptop-4").unwrap();
    let costs = &machine.costs;
    // The CPU sleeps for most of an interval of 1 ms, so that it is in the deepest idle state.
    let exit = machine.idle.last().unwrap().exit_ns;
    let kernel = costs.timer_irq + costs.wakeup.core + costs.schedule + costs.switch;
    let expected = u64::from(exit + kernel + costs.clock_read);
    for (class, slack) in [(FIFO, 0), (Class::default(), SLACK_NS)] {
        let outcome = run(program(1, 100 * MS), class, 1000);
        let samples = &outcome.observed.series[0];
        assert!((99..=100).contains(&samples.len()), "{}", samples.len());
        assert!(samples.iter().all(|ns| *ns == slack + expected), "{class:?}: {samples:?}, not {expected}");
        assert_eq!(metric(&outcome, "missed"), 0.0);
    }
}

#[test]
fn beside_a_hog_lateness_depends_on_the_policy() {
    let of = |class| run(beside_a_hog(), class, 1000);
    // A real-time thread and, after its timer slack, an ordinary thread preempt the hog. The CPU is never idle, so that lateness
    // is the timer interrupt (1 µs), the wake-up and the switch (1.4 µs), and up to one tick before the interrupt (1.2 µs).
    for (class, slack_us) in [(FIFO, 0.0), (Class::default(), 50.0)] {
        let outcome = of(class);
        let (median, longest) = (metric(&outcome, "latency-p50"), metric(&outcome, "latency-max"));
        assert!(2.3 + slack_us < median && longest < 4.0 + slack_us, "{class:?}: {median}, {longest}");
        assert_eq!(metric(&outcome, "missed"), 0.0);
    }
    // A wake-up of the policy batch preempts no task: the thread waits for the end of the hog's slice of 2.25 ms, which the
    // next tick notices, up to 4 ms later.
    let batch = of(Class::Batch);
    assert!((500.0..6300.0).contains(&metric(&batch, "latency-max")), "{}", metric(&batch, "latency-max"));
    assert!(metric(&batch, "missed") > 0.0);
}

#[test]
fn the_second_thread_has_a_longer_interval() {
    // 600 ms / 1 ms and 600 ms / 1.5 ms.
    let outcome = run(program(2, 600 * MS), FIFO, 2000);
    let wakeups = outcome.observed.series[0].len();
    assert!((998..=1000).contains(&wakeups), "{wakeups}");
}

#[test]
fn the_maximum_does_not_depend_on_the_selection_of_samples() {
    let all = run(beside_a_hog(), Class::Batch, 10_000);
    let few = run(beside_a_hog(), Class::Batch, 16);
    assert!(few.observed.series[0].len() <= 16);
    assert_eq!(metric(&few, "latency-max"), metric(&all, "latency-max"));
}
