//! For which messages a reader preempts the writer: what CFS charges to each of them decides.

use std::collections::BTreeMap;

use schedlab_sim::{Attributes, Class, Config, Machine, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::program::{
    Mode, Program, Quantity, Resources, Scope, down, group, lower, semaphores, times, up,
};

/// One CPU without caches that takes 8 ns for an instruction, as a deterministic guest does. Costs are the instructions of Linux 5.10
/// (docs/exact-cost.md) times 8 ns.
fn guest() -> Machine {
    let mut guest = machine("laptop-4").unwrap();
    guest.cores_per_cache = 1;
    (guest.private_kib, guest.llc_kib) = (1 << 20, 1 << 20);
    guest.costs_kernel = Some("linux-5.10".to_owned());
    let costs = &mut guest.costs;
    costs.instruction_ps = 8000;
    (costs.syscall, costs.schedule, costs.switch) = (5320, 1184, 11_264);
    (costs.pipe, costs.unix, costs.tick) = (4660, 15_144, 17_544);
    for part in [
        &mut costs.wakeup.core,
        &mut costs.wakeup.cluster,
        &mut costs.wakeup.llc,
        &mut costs.wakeup.node,
        &mut costs.wakeup.near,
        &mut costs.wakeup.far,
    ] {
        *part = 15_760;
    }
    (costs.copy_kib, costs.footprint_kib, costs.lock_hold) = (6000, 0, 0);
    guest
}

/// Switches for each message of hackbench, without the start.
fn switches(channel: Carrier, groups: u32, fds: u32, loops: [u64; 2]) -> f64 {
    let [few, many] = loops.map(|loops| {
        let program = Hackbench { groups, fds, loops, channel, ..Hackbench::default() };
        let plan = Plan::new(program.program().unwrap()).unwrap();
        let simulation = Simulation::new(guest(), kernel("linux-5.10").unwrap(), plan, Config::default());
        simulation.unwrap().run().unwrap()
    });
    let of = |count: fn(&Outcome) -> u64| (count(&many) - count(&few)) as f64;
    of(|outcome| outcome.counters.switches) / of(|outcome| outcome.counters.messages)
}

/// Debian's 5.10.0-46 in a deterministic guest of one CPU, rt-tests' hackbench and schedload's: 1.81 and 2.00 switches for each message
/// over a Unix socket with one pair of tasks, 1.27 and 1.35 with 20; over a pipe 0.01 and 0.47, 0.18 and 0.08. Sending over a socket
/// takes longer than receiving, so that the reader stays behind and preempts the writer; pipes have no such difference.
#[test]
fn readers_preempt_writers_of_sockets_and_seldom_writers_of_pipes() {
    for (fds, loops, sockets) in [(1, [2000, 6000], 1.2..=2.0), (20, [12, 60], 0.9..=1.5)] {
        let socket = switches(Carrier::Socket, 1, fds, loops);
        let pipe = switches(Carrier::Pipe, 1, fds, loops);
        assert!(sockets.contains(&socket), "{fds}: {socket}");
        assert!(pipe < 0.2, "{fds}: {pipe}");
    }
}

/// Run times in ns of a task that wakes a real-time task 1000 times, and of the woken task, which preempts it each time.
fn run_times(machine: Machine) -> [u64; 2] {
    let program = Program {
        resources: Resources {
            semaphores: vec![semaphores("there", 1, Scope::Program, 0)],
            ..Resources::default()
        },
        groups: vec![
            group("waking", 1, Mode::Process, vec![times(1000u64, vec![up("there", 1u64)])]),
            group("woken", 1, Mode::Process, vec![times(1000u64, vec![down("there")])]),
        ],
        metrics: vec![lower("time", "s", Quantity::Elapsed, 1.0)],
        ..Program::named("wakes")
    };
    let class = |class| Attributes { class, ..Attributes::default() };
    let groups = BTreeMap::from([
        ("woken".to_owned(), class(Class::Fifo(1))),
        ("waking".to_owned(), class(Class::Normal)),
    ]);
    let config = Config { groups, ..Config::default() };
    let plan = Plan::new(program).unwrap();
    let outcome =
        Simulation::new(machine, kernel("linux-5.10").unwrap(), plan, config).unwrap().run().unwrap();
    [0, 1].map(|ordinal| outcome.tasks[ordinal].ran_ns)
}

/// The waker's part of a wake-up that preempts is charged to the woken task, and its sleep and each switch to the next task.
#[test]
fn what_follows_a_preempting_wake_up_is_charged_to_the_woken_task() {
    let before = run_times(guest());
    let more = |change: fn(&mut Machine)| {
        let mut machine = guest();
        change(&mut machine);
        let after = run_times(machine);
        [0, 1].map(|task| (after[task] as f64 - before[task] as f64) / 1000.0)
    };
    let [waking, woken] = more(|machine| machine.costs.wakeup.core += 10_000);
    assert!((3500.0..3800.0).contains(&waking), "714 of 1971 instructions are the sleeper's: {waking}");
    assert!((6200.0..6600.0).contains(&woken), "{woken}");
    let [waking, woken] = more(|machine| machine.costs.switch += 10_000);
    assert!((9900.0..10_200.0).contains(&waking) && (9900.0..10_200.0).contains(&woken), "{waking}, {woken}");
}
