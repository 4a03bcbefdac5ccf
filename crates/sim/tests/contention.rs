//! Rules of contention: shared cache lines limit a rate, small messages go together, busy queues make balancing dearer.

use schedlab_sim::machine::Distance;
use schedlab_sim::{Account, Attributes, Config, Outcome, Simulation, kernel, machine};
use schedlab_workload::Plan;
use schedlab_workload::library::busyloop::BusyLoop;
use schedlab_workload::library::pgbench::Pgbench;
use schedlab_workload::library::stream::Stream;
use schedlab_workload::program::{
    ChannelKind, Mode, Op, Program, Quantity, Resources, Scope, Window, channels, count, group, higher,
    lower, receive, semaphores, send, times, up, within_window,
};

const MS: u64 = 1_000_000;

fn run(machine_name: &str, kernel_name: &str, program: Program) -> Outcome {
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, Plan::new(program).unwrap(), Config::default()).unwrap().run().unwrap()
}

fn first_metric(outcome: &Outcome) -> f64 {
    outcome.metrics[0].value.unwrap()
}

/// Tasks that add to one counter all the time.
fn adders(tasks: u32) -> Program {
    Program {
        window: Some(Window { warmup_ns: MS, duration_ns: 4 * MS }),
        resources: Resources {
            semaphores: vec![semaphores("line", 1, Scope::Program, 0)],
            ..Resources::default()
        },
        counters: vec!["additions".to_owned()],
        groups: vec![group(
            "adder",
            tasks,
            Mode::Thread,
            vec![within_window(vec![up("line", 1u64), count("additions", 1u64)])],
        )],
        metrics: vec![higher("additions", "1/s", Quantity::Rate("additions".to_owned()), 1.0)],
        ..Program::named("adders")
    }
}

#[test]
fn a_shared_line_limits_the_common_rate_to_a_transfer_per_operation() {
    let line = machine("kunpeng920").unwrap().costs.line;
    for tasks in [16, 64] {
        let outcome = run("kunpeng920", "linux-5.14", adders(tasks));
        let rate = first_metric(&outcome);
        assert!(rate <= 1e9 / line.at(Distance::Cluster) as f64, "{tasks} tasks: {rate} additions a second");
        assert!(rate >= 0.5e9 / f64::from(line.far), "{tasks} tasks: {rate} additions a second");
        let waited = outcome.ledger.total(Account::Lines);
        assert!(waited > outcome.ledger.total(Account::User), "{tasks} tasks wait {waited} ns");
    }
}

#[test]
fn a_single_task_keeps_its_line() {
    let outcome = run("kunpeng920", "linux-5.14", adders(1));
    assert!(outcome.ledger.total(Account::Lines) < 1000, "the line moves to the task's CPU once");
}

/// Two tasks write 300 messages of 100 bytes each, to one pipe or to a pipe of their own, on two CPUs or on one; nobody reads meanwhile.
/// Return the time in which tasks waited for locks.
fn writers(pipes: [&str; 2], cpus: [usize; 2]) -> u64 {
    let names = ["first", "second"];
    let writer =
        |at: usize| group(names[at], 1, Mode::Process, vec![times(300u64, vec![send(pipes[at], 100u64)])]);
    let reads = [pipes[0], pipes[1]].map(|pipe| times(300u64, vec![receive(pipe, 100u64)]));
    let reader =
        group("reader", 1, Mode::Process, [vec![Op::Sleep { ns: MS.into() }], reads.to_vec()].concat());
    let channels = vec![channels("one", ChannelKind::Pipe, 1), channels("other", ChannelKind::Pipe, 1)];
    let program = Program {
        resources: Resources { channels, ..Resources::default() },
        groups: vec![writer(0), writer(1), reader],
        metrics: vec![lower("time", "s", Quantity::Elapsed, 1.0)],
        ..Program::named("writers")
    };
    let on = |cpu: usize| Attributes { cpus: Some([cpu].into_iter().collect()), ..Attributes::default() };
    let config = Config {
        groups: (0..2)
            .map(|at| (names[at].to_owned(), on(cpus[at])))
            .chain([("reader".to_owned(), on(2))])
            .collect(),
        ..Config::default()
    };
    let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-6.12").unwrap());
    let outcome =
        Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap().run().unwrap();
    outcome.ledger.total(Account::LockWait)
}

#[test]
fn writers_of_one_pipe_wait_for_its_mutex() {
    let costs = machine("laptop-4").unwrap().costs;
    let apart = writers(["one", "other"], [0, 1]);
    let in_turn = writers(["one", "one"], [0, 0]);
    let together = writers(["one", "one"], [0, 1]);
    // Runqueues have locks too.
    assert!(apart < 1000 && in_turn < 1000, "{apart} and {in_turn} ns");
    // A writer has the mutex for most of its system call, in which the other waits.
    let held = u64::from(costs.pipe);
    assert!((300 * held / 2..600 * held).contains(&together), "{together} ns");
}

#[test]
fn small_messages_go_together_unless_the_sender_forbids_it() {
    let rate = |size, no_delay, kernel_name| {
        let stream = Stream { size, no_delay, warmup_ns: 2 * MS, duration_ns: 20 * MS, ..Stream::default() };
        first_metric(&run("xeon-e5-2670v3", kernel_name, stream.program().unwrap()))
    };
    for kernel_name in ["linux-4.5", "linux-5.14"] {
        let (together, single) = (rate(64, false, kernel_name), rate(64, true, kernel_name));
        assert!(together > 1.5 * single, "{kernel_name}: {together} and {single} Mbit/s");
    }
}

/// MMTests of January 2016 set netperf's buffers to a message and 256 bytes: a message of 1024 bytes then takes as long as a message
/// of 4096 bytes, because sender and receiver wait for each other, and nine messages of 64 bytes share a segment.
#[test]
fn buffers_of_one_message_make_the_rate_of_messages_independent_of_their_size() {
    let messages = |size, buffer_beyond| {
        let stream =
            Stream { size, buffer_beyond, warmup_ns: 2 * MS, duration_ns: 20 * MS, ..Stream::default() };
        first_metric(&run("xeon-e5-2670v3", "linux-4.5", stream.program().unwrap())) / size as f64
    };
    let of_set = [64, 1024, 4096].map(|size| messages(size, Some(256)));
    assert!((0.6..1.6).contains(&(of_set[2] / of_set[1])), "{of_set:?}");
    assert!(of_set[0] > 3.0 * of_set[1], "{of_set:?}");
    assert!(messages(4096, None) > 2.0 * of_set[2]);
}

#[test]
fn few_threads_of_pgbench_limit_many_clients() {
    let rate = |clients, threads| {
        let pgbench = Pgbench {
            clients,
            threads,
            tcp: true,
            client_ns: 20_000,
            warmup_ns: 5 * MS,
            duration_ns: 20 * MS,
            ..Pgbench::default()
        };
        first_metric(&run("kunpeng920", "linux-5.14", pgbench.program().unwrap()))
    };
    assert!(rate(64, 4) < 1.3 * rate(16, 4), "four threads serve no more than their own rate");
    assert!(rate(32, 0) > 1.5 * rate(32, 4), "clients with a thread each are not limited");
    assert!(rate(4, 4) > 0.9 * rate(4, 0) && rate(4, 4) < 1.1 * rate(4, 0), "a thread for each client");
}

#[test]
fn a_balancing_pass_costs_more_when_queues_are_busy() {
    let cost = |tasks: u32| {
        let busy = BusyLoop { tasks, warmup_ns: MS, duration_ns: 200 * MS, ..BusyLoop::default() };
        let outcome = run("kunpeng920", "linux-5.14", busy.program().unwrap());
        let kinds = [outcome.counters.busy_balance, outcome.counters.idle_balance];
        let spent = outcome.ledger.total(Account::Balance) as f64;
        spent / kinds.iter().map(|kind| kind.calls - kind.declined).sum::<u64>() as f64
    };
    let (idle, full) = (cost(8), cost(128));
    assert!(full > 1.1 * idle, "{idle} ns with eight tasks, {full} ns with a task on each CPU");
}
