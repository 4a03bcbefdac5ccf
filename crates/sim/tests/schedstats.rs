//! Scheduler statistics: counts and costs while the statistics are on, and neither counts nor costs while they are off.

use std::collections::BTreeMap;

use schedlab_sim::machine::{ByDistance, Distance};
use schedlab_sim::observe::Birth;
use schedlab_sim::schedstats::{CpuCounts, DomainCounts, Report, Throughout};
use schedlab_sim::{
    Account, Attributes, Change, Config, CpuMask, Kernel, Machine, Observer, Outcome, SimError, Simulation,
    kernel, machine,
};
use schedlab_workload::Plan;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::program::{
    Attributes as Wanted, ChannelKind, Mode, Op, Program, Quantity, Resources, Scope, TaskGroup, at,
    channels, compute, group, higher, receive, send, times,
};

const MS: u64 = 1_000_000;
const SWITCH: &str = "kernel.sched_schedstats";
const KERNELS: [&str; 3] = ["linux-4.5", "linux-5.14", "linux-6.12"];

fn program(groups: Vec<TaskGroup>, resources: Resources) -> Program {
    Program {
        resources,
        counters: vec!["turns".to_owned()],
        groups,
        metrics: vec![higher("turns", "1", Quantity::Total("turns".to_owned()), 1.0)],
        ..Program::named("test")
    }
}

fn hackbench() -> Program {
    let parameters =
        Hackbench { groups: 2, fds: 5, loops: 20, channel: Carrier::Pipe, ..Hackbench::default() };
    parameters.program().unwrap()
}

/// Tasks that compute and sleep, more than there are CPUs, so that balancing has tasks to move.
fn crowd(tasks: u32, loops: u64) -> Program {
    let body = vec![times(loops, vec![compute(700_000u64), Op::Sleep { ns: 300_000u64.into() }])];
    program(vec![group("crowd", tasks, Mode::Process, body)], Resources::default())
}

/// Two tasks that begin on the siblings of a core while other cores are idle, so that active balancing separates them.
fn siblings() -> Program {
    let bound = |cpus: Vec<u32>| Op::Set { attributes: Wanted { cpus: Some(cpus), ..Wanted::default() } };
    let hog = |cpu: u32| {
        let body = vec![bound(vec![cpu]), compute(200_000u64), bound(Vec::new()), compute(200 * MS)];
        group(&format!("hog-{cpu}"), 1, Mode::Process, body)
    };
    program(vec![hog(0), hog(4)], Resources::default())
}

fn on() -> Config {
    Config { command_line: "schedstats=enable".to_owned(), ..Config::default() }
}

fn simulation(machine: Machine, kernel: Kernel, program: Program, config: Config) -> Simulation {
    Simulation::new(machine, kernel, Plan::new(program).unwrap(), config).unwrap()
}

fn run(machine_name: &str, kernel_name: &str, program: Program, config: Config) -> Outcome {
    simulation(machine(machine_name).unwrap(), kernel(kernel_name).unwrap(), program, config).run().unwrap()
}

fn report(outcome: &Outcome) -> &Report {
    outcome.schedstats.as_ref().expect("statistics were on")
}

fn cpus(outcome: &Outcome, of: impl Fn(&CpuCounts) -> u64) -> u64 {
    report(outcome).cpus.iter().map(|cpu| of(&cpu.counts)).sum()
}

fn domains(outcome: &Outcome, of: impl Fn(&DomainCounts) -> u64) -> u64 {
    report(outcome).cpus.iter().flat_map(|cpu| &cpu.domains).map(|domain| of(&domain.counts)).sum()
}

/// Observer that counts the same events as the statistics.
#[derive(Default)]
struct Counting {
    names: BTreeMap<u32, String>,
    wakeups: u64,
    local: u64,
    runs: u64,
    idle: u64,
    runs_of: BTreeMap<String, u64>,
    wakeups_of: BTreeMap<String, u64>,
    created: BTreeMap<String, u64>,
    ended: BTreeMap<String, u64>,
    spent: u64,
}

impl Observer for Counting {
    fn created(&mut self, at: u64, _: usize, birth: Birth<'_>) {
        let name = (birth.name)();
        self.created.insert(name.clone(), at);
        self.names.insert(birth.task, name);
    }

    fn ended(&mut self, at: u64, task: u32) {
        self.ended.insert(self.names.get(&task).cloned().unwrap_or_default(), at);
    }

    fn woken(&mut self, at: u64, cpu: usize, task: u32, target: usize, _: bool) {
        let name = self.names.get(&task).cloned().unwrap_or_default();
        // The first wake-up of a new task is not counted.
        if self.created.get(&name) == Some(&at) {
            return;
        }
        self.wakeups += 1;
        self.local += u64::from(cpu == target);
        *self.wakeups_of.entry(name).or_default() += 1;
    }

    fn switched(&mut self, _: u64, _: usize, _: Option<u32>, to: Option<u32>) {
        let Some(task) = to else {
            self.idle += 1;
            return;
        };
        self.runs += 1;
        *self.runs_of.entry(self.names.get(&task).cloned().unwrap_or_default()).or_default() += 1;
    }

    fn spent(&mut self, _: u64, _: usize, account: Account, ns: u64) {
        self.spent += if account == Account::Schedstats { ns } else { 0 };
    }
}

#[test]
fn statistics_match_the_events_that_an_observer_counts() {
    let cases = [
        ("xeon-e5-2670v3", hackbench()),
        ("i7-3770", crowd(21, 40)),
        ("i7-3770", siblings()),
        ("kunpeng920", crowd(150, 8)),
    ];
    let (mut total_refused, mut total_pushed) = (0, 0);
    for ((machine_name, program), kernel_name) in
        cases.iter().flat_map(|case| KERNELS.map(|kernel_name| (case, kernel_name)))
    {
        let case = format!("{machine_name} {kernel_name}");
        let mut counting = Counting::default();
        let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
        let costs = machine.costs.clone();
        let update_ns = kernel.schedstats.unwrap().update_ns(&costs).map(u64::from);
        let outcome = simulation(machine, kernel, program.clone(), on()).run_observed(&mut counting).unwrap();
        let counters = &outcome.counters;
        assert_eq!(report(&outcome).throughout, Throughout::On);
        // Runqueues.
        assert_eq!(cpus(&outcome, |counts| counts.ttwu_count), counting.wakeups, "{case}");
        assert_eq!(counters.wakeups.iter().sum::<u64>(), counting.wakeups, "{case}");
        assert_eq!(cpus(&outcome, |counts| counts.ttwu_local), counting.local, "{case}");
        assert_eq!(cpus(&outcome, |counts| counts.pcount), counting.runs, "{case}");
        assert_eq!(cpus(&outcome, |counts| counts.sched_goidle), counting.idle, "{case}");
        assert_eq!(counters.switches, counting.runs + counting.idle, "{case}");
        assert!(cpus(&outcome, |counts| counts.sched_count) >= counters.switches, "{case}");
        // Domains; the widest domain contains all CPUs.
        assert_eq!(
            domains(&outcome, |counts| counts.ttwu_wake_remote),
            counting.wakeups - counting.local,
            "{case}"
        );
        assert_eq!(domains(&outcome, |counts| counts.ttwu_move_affine), counters.wake_affine, "{case}");
        let pushed = domains(&outcome, |counts| counts.alb_pushed);
        let attempts = domains(&outcome, |counts| counts.alb_count);
        assert_eq!(domains(&outcome, |counts| counts.alb_failed), attempts - pushed, "{case}");
        total_pushed += pushed;
        let kinds = [counters.busy_balance, counters.idle_balance, counters.newidle_balance];
        let mut gained = 0;
        for (kind, counted) in kinds.into_iter().enumerate() {
            let sum = |of: fn(&schedlab_sim::schedstats::PassCounts) -> u64| {
                domains(&outcome, |counts| of(&counts.passes[kind]))
            };
            // Only idle CPUs do active balancing, and each attempt counts as a failed pass.
            let pushed = if kind == 1 { pushed } else { 0 };
            assert_eq!(sum(|counts| counts.lb_failed) - pushed, counted.failed, "{case} {kind}");
            let acted = counted.calls - counted.balanced - counted.declined;
            assert_eq!(
                sum(|counts| counts.lb_count) - sum(|counts| counts.lb_balanced),
                acted,
                "{case} {kind}"
            );
            assert_eq!(sum(|counts| counts.lb_count), counted.calls, "{case} {kind}");
            let not_found = sum(|counts| counts.lb_nobusyg) + sum(|counts| counts.lb_nobusyq);
            assert_eq!(not_found, counted.balanced, "{case} {kind}");
            gained += sum(|counts| counts.lb_gained);
        }
        let moved: u64 = kinds.iter().map(|kind| kind.moved).sum();
        assert_eq!(gained + pushed, moved, "{case}");
        assert_eq!(counters.balance_migrations.iter().sum::<u64>(), moved, "{case}");
        // Tasks.
        for task in &outcome.tasks {
            let counts = task.statistics.as_ref().expect("every task has run");
            let name = &task.name;
            assert_eq!(
                counts.nr_wakeups,
                counting.wakeups_of.get(name).copied().unwrap_or(0),
                "{case} {name}"
            );
            assert_eq!(counts.nr_wakeups, task.wakeups.0, "{case} {name}");
            assert_eq!(
                counts.nr_wakeups_local + counts.nr_wakeups_remote,
                counts.nr_wakeups,
                "{case} {name}"
            );
            assert!(counts.nr_wakeups_affine <= counts.nr_wakeups_affine_attempts, "{case} {name}");
            assert_eq!(counts.wait_count, counting.runs_of[name], "{case} {name}");
            assert!(
                counts.wait_max_ns <= counts.wait_sum_ns
                    && counts.sleep_max_ns <= counts.sum_sleep_runtime_ns,
                "{case}"
            );
        }
        let refused: u64 =
            outcome.tasks.iter().map(|task| task.statistics.unwrap().nr_failed_migrations_hot).sum();
        let hot: u64 = kinds.iter().map(|kind| kind.hot).sum();
        // Some refused migrations are of the main task, which has no report.
        assert!(refused <= hot, "{case}: {refused} of {hot}");
        total_refused += refused;
        // Costs.
        let lines: u64 = counters.schedstat_lines.iter().sum();
        let fetched = Distance::ALL.iter().zip(counters.schedstat_lines);
        let most = fetched.map(|(distance, lines)| lines * costs.line.at(*distance)).sum::<u64>();
        let spent = outcome.ledger.total(Account::Schedstats);
        assert_eq!(spent, counting.spent, "{case}");
        // The way to the next atomic operation hides a part of each line.
        let [slowest, fastest] = update_ns.map(|ns| counters.schedstat_updates * ns);
        assert!((fastest..=slowest + most).contains(&(spent + lines)), "{case}: {spent}");
        assert!(fastest > 0 && lines > 0, "{case}");
    }
    assert!(total_refused > 20 && total_pushed >= 3, "{total_refused} {total_pushed}");
}

#[test]
fn off_is_the_default_and_has_no_counts_and_no_costs() {
    for kernel_name in KERNELS {
        let plain = run("xeon-e5-2670v3", kernel_name, hackbench(), Config::default());
        let off = Config { command_line: "schedstats=disable".to_owned(), ..Config::default() };
        let off = run("xeon-e5-2670v3", kernel_name, hackbench(), off);
        assert_eq!(plain, off);
        assert_eq!((&plain.schedstats, plain.counters.schedstat_updates), (&None, 0));
        assert_eq!(plain.ledger.total(Account::Schedstats), 0);
        assert!(plain.tasks.iter().all(|task| task.statistics.is_none()));
        let counting = run("xeon-e5-2670v3", kernel_name, hackbench(), on());
        assert_ne!(plain.digest(), counting.digest());
    }
}

#[test]
fn statistics_without_costs_do_not_change_the_course_of_events() {
    let mut free = machine("xeon-e5-2670v3").unwrap();
    (free.costs.instruction_ps, free.costs.line) = (0, ByDistance::default());
    for kernel_name in KERNELS {
        let of = |config| {
            simulation(free.clone(), kernel(kernel_name).unwrap(), hackbench(), config).run().unwrap()
        };
        let (off, on) = (of(Config::default()), of(on()));
        assert_eq!((off.end_ns, &off.ledger, &off.observed), (on.end_ns, &on.ledger, &on.observed));
        assert!(on.counters.schedstat_updates > 0);
    }
}

fn on_cpu(cpu: usize) -> Attributes {
    Attributes { cpus: Some([cpu].into_iter().collect::<CpuMask>()), ..Attributes::default() }
}

/// Run a program on a machine whose first tick is after the program's end.
fn quiet(program: Program, groups: [(&str, usize); 2]) -> Outcome {
    let mut machine = machine("xeon-e5-2670v3").unwrap();
    machine.hz = 1;
    let groups = groups.map(|(name, cpu)| (name.to_owned(), on_cpu(cpu)));
    let names: Vec<String> = program.groups.iter().map(|group| group.name.clone()).collect();
    let groups = groups.into_iter().filter(|(name, _)| names.contains(name)).collect();
    let config = Config { groups, seed: 1, ..on() };
    let outcome = simulation(machine, kernel("linux-5.14").unwrap(), program, config).run().unwrap();
    assert_eq!(outcome.counters.ticks, 0);
    outcome
}

/// Differences of two outcomes in updates, lines fetched from other sockets, cost in ns, and wake-ups.
fn difference(few: &Outcome, many: &Outcome) -> (u64, u64, u64, u64) {
    let of = |outcome: &Outcome| {
        let counters = &outcome.counters;
        let cost = outcome.ledger.total(Account::Schedstats);
        (
            counters.schedstat_updates,
            counters.schedstat_lines[Distance::Far as usize],
            cost,
            counters.wakeups.iter().sum::<u64>(),
        )
    };
    let (few, many) = (of(few), of(many));
    (many.0 - few.0, many.1 - few.1, many.2 - few.2, many.3 - few.3)
}

#[test]
fn each_sleep_of_a_bound_task_costs_eight_local_updates() {
    let sleeper = |loops: u64| {
        let body = vec![times(loops, vec![compute(10_000u64), Op::Sleep { ns: 100_000u64.into() }])];
        program(vec![group("a", 1, Mode::Process, body)], Resources::default())
    };
    let (few, many) = (quiet(sleeper(10), [("a", 3), ("-", 0)]), quiet(sleeper(20), [("a", 3), ("-", 0)]));
    // Sleep: the task's line. schedule() and idle: two updates of the queue's line. The timer's wake-up: the queue's line
    // and the task's line. Enqueue: the task's line. schedule(): the queue's line. Switch: the task's line. All updates
    // are by CPU 3. Three of times, of 32 instructions of 318 ps, and five of counters, of 4 instructions.
    assert_eq!(difference(&few, &many), (10 * 8, 0, 10 * (3 * 10 + 5), 10));
}

#[test]
fn a_wake_up_across_sockets_costs_nine_updates_and_four_lines() {
    let pair = |messages: u64| {
        let mut resources = Resources::default();
        let mut channel = channels("talk", ChannelKind::Unix, 2);
        channel.scope = Scope::Program;
        resources.channels = vec![channel];
        let a = vec![times(messages, vec![send(at("talk", 0u64), 8u64), receive(at("talk", 1u64), 8u64)])];
        let b = vec![times(messages, vec![receive(at("talk", 0u64), 8u64), send(at("talk", 1u64), 8u64)])];
        program(vec![group("a", 1, Mode::Process, a), group("b", 1, Mode::Process, b)], resources)
    };
    // CPUs 0 to 11 are the first siblings of one socket, 12 to 23 the first siblings of the other socket.
    let (few, many) = (quiet(pair(10), [("a", 3), ("b", 15)]), quiet(pair(20), [("a", 3), ("b", 15)]));
    // 10 more round trips are 20 wake-ups. Each wake-up by the waker: its queue, its domain, the sleeper's counters of
    // wake-ups, which only the waker writes, and the sleeper's wait and sleep, two lines that the sleeper's CPU wrote
    // last. The waker sleeps: its task's sleep, a line that its waker wrote last; then its queue for schedule() and for
    // idle. On the sleeper's CPU: the queue for schedule(), and for the switch the task's wait, a line that the waker wrote
    // last. 3 updates of times of 10 ns and 6 of counters of 1 ns, and 4 lines of 104 ns; the second line of the sleeper's wait and sleep
    // takes a fifth. The core hides 192 instructions of 318 ps, 61 ns, of each of the three waits, less where an atomic operation is
    // nearer: 33 ns.
    let lines = (104 + 20) + 2 * 104 - 3 * 33;
    assert_eq!(difference(&few, &many), (20 * 9, 20 * 4, 20 * (3 * 10 + 6 + lines), 20));
}

#[test]
fn statistics_switched_on_and_off_count_only_the_time_between() {
    // Without costs the events are equal in all runs: the sum of the counts of the parts is the count of a full run.
    let mut free = machine("i7-3770").unwrap();
    (free.costs.instruction_ps, free.costs.line) = (0, ByDistance::default());
    for kernel_name in KERNELS {
        let of = |from_start: bool, changes: &[(u64, i64)]| {
            let change = |(at_ns, value): &(u64, i64)| Change {
                at_ns: *at_ns,
                tunable: SWITCH.to_owned(),
                value: *value,
            };
            let config = Config {
                tunables: vec![(SWITCH.to_owned(), from_start.into())],
                changes: changes.iter().map(change).collect(),
                ..Config::default()
            };
            simulation(free.clone(), kernel(kernel_name).unwrap(), crowd(21, 60), config).run().unwrap()
        };
        let full = of(true, &[]);
        let (first, second) = (10 * MS + 7, 30 * MS + 11);
        assert!(full.end_ns > 40 * MS);
        let parts =
            [of(true, &[(first, 0)]), of(false, &[(first, 1), (second, 0)]), of(false, &[(second, 1)])];
        let counts: [fn(&CpuCounts) -> u64; 5] = [
            |counts| counts.ttwu_count,
            |counts| counts.ttwu_local,
            |counts| counts.sched_count,
            |counts| counts.sched_goidle,
            |counts| counts.pcount,
        ];
        for count in counts {
            let each: Vec<u64> = parts.iter().map(|part| cpus(part, count)).collect();
            assert_eq!(each.iter().sum::<u64>(), cpus(&full, count), "{kernel_name}: {each:?}");
        }
        for count in [
            (|counts| counts.passes.iter().map(|pass| pass.lb_count).sum()) as fn(&DomainCounts) -> u64,
            |counts| counts.ttwu_wake_remote,
        ] {
            let each: u64 = parts.iter().map(|part| domains(part, count)).sum();
            assert_eq!(each, domains(&full, count), "{kernel_name}");
        }
        assert!(parts.iter().all(|part| cpus(part, |counts| counts.ttwu_count) > 50), "{kernel_name}");
        // A wait across a switch is not counted, so that no wait is longer than its part.
        let waited = |outcome: &Outcome| -> u64 {
            outcome.tasks.iter().map(|task| task.statistics.unwrap_or_default().wait_sum_ns).sum()
        };
        let sum: u64 = parts.iter().map(waited).sum();
        let total = waited(&full);
        assert!(sum <= total && sum * 10 > total * 8, "{kernel_name}: {sum} of {total}");
        for task in &parts[1].tasks {
            let counts = task.statistics.unwrap_or_default();
            assert!(counts.wait_max_ns.max(counts.sleep_max_ns) <= second - first);
        }
        let throughout: Vec<_> = parts.iter().map(|part| report(part).throughout).collect();
        let partly = |at_end| Throughout::Partly { at_end };
        assert_eq!(throughout, [partly(false), partly(false), partly(true)]);
    }
}

#[test]
fn run_wait_and_sleep_sum_to_a_tasks_life() {
    for kernel_name in KERNELS {
        for (machine_name, program) in [("laptop-4", crowd(9, 30)), ("xeon-e5-2670v3", hackbench())] {
            let mut counting = Counting::default();
            let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
            let outcome = simulation(machine, kernel, program, on()).run_observed(&mut counting).unwrap();
            for task in &outcome.tasks {
                let counts = task.statistics.unwrap();
                let life = counting.ended[&task.name] - counting.created[&task.name];
                let sum = task.ran_ns + counts.wait_sum_ns + counts.sum_sleep_runtime_ns;
                // The clocks of two CPUs differ by a few microseconds at each wake-up.
                let slack = 20_000 + 500 * counts.nr_wakeups;
                assert!(
                    sum.abs_diff(life) <= slack,
                    "{kernel_name} {}: {sum} of {life}, {counts:?}",
                    task.name
                );
            }
            let (ran, waited): (u64, u64) = outcome
                .tasks
                .iter()
                .map(|task| (task.ran_ns, task.statistics.unwrap().wait_sum_ns))
                .fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
            // The machine's sums include the main task.
            let (all_ran, all_waited) = (
                cpus(&outcome, |counts| counts.rq_cpu_time_ns),
                cpus(&outcome, |counts| counts.run_delay_ns),
            );
            assert!(
                all_ran >= ran && all_waited >= waited,
                "{kernel_name}: {all_ran} {ran} {all_waited} {waited}"
            );
            assert!(all_ran < outcome.ledger.closed_ns() * outcome.ledger.cpus() as u64);
        }
    }
}

#[test]
fn an_old_kernel_has_no_switch_and_names_kernels_that_have_it() {
    let refused = |config| {
        let plan = Plan::new(hackbench()).unwrap();
        Simulation::new(machine("numa-q-16").unwrap(), kernel("linux-2.5.59").unwrap(), plan, config)
            .unwrap_err()
    };
    let error = refused(on());
    assert!(matches!(&error, SimError::CommandLine { .. }), "{error}");
    assert!(error.to_string().contains("`schedstats=enable`: linux-2.5.59 has no such switch"), "{error}");
    let error = refused(Config { tunables: vec![(SWITCH.to_owned(), 1)], ..Config::default() });
    assert!(
        error.to_string().contains("kernels with this tunable: linux-4.5, linux-5.10, linux-5.14"),
        "{error}"
    );
}

#[test]
fn a_kernel_model_without_a_valid_format_of_the_statistics_is_refused() {
    let text = include_str!("../models/kernels/linux-6.12.toml");
    let error = |text: &str| Kernel::from_toml(text).unwrap_err().to_string();
    let older = text.replace("version = 16", "version = 14");
    assert!(error(&older).contains("version 14 is not 15, 16 or 17"), "{}", error(&older));
    let table = |line: &&str| {
        ["[schedstats]", "version", "statistics_in_entity", "time_instructions", "counter_instructions"]
            .iter()
            .any(|key| line.starts_with(key))
    };
    let without: Vec<&str> = text.lines().filter(|line| !table(line)).collect();
    assert!(error(&without.join("\n")).contains("missing field `schedstats`"));
    let unused: Vec<&str> = text.lines().filter(|line| !line.contains(SWITCH)).collect();
    assert!(error(&unused.join("\n")).contains("`schedstats` has no meaning without"));
}

#[test]
fn the_files_have_the_layouts_of_the_kernels_versions() {
    for (version, fields) in [(15, 1 + 36), (16, 1 + 36), (17, 2 + 45)] {
        let mut model = kernel("linux-6.12").unwrap();
        model.schedstats.as_mut().unwrap().version = version;
        let outcome =
            simulation(machine("xeon-e5-2670v3").unwrap(), model, crowd(60, 3), on()).run().unwrap();
        let text = report(&outcome).file();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
        assert_eq!(lines[0], ["version".to_owned(), version.to_string()]);
        assert_eq!((lines[1][0], lines[1].len()), ("timestamp", 2));
        let of_cpus = lines.iter().filter(|line| line[0].starts_with("cpu"));
        assert!(of_cpus.clone().all(|line| line.len() == 10));
        assert_eq!(of_cpus.count(), 48);
        let of_domains: Vec<_> = lines.iter().filter(|line| line[0].starts_with("domain")).collect();
        assert_eq!(of_domains.len(), 48 * 3);
        assert!(of_domains.iter().all(|line| line.len() == 1 + fields), "{version}");
        // CPU 0 and its sibling 24; its socket; all CPUs.
        let mask = |level: usize| of_domains[level][if version == 17 { 2 } else { 1 }];
        assert_eq!([mask(0), mask(1), mask(2)], ["0000,01000001", "000f,ff000fff", "ffff,ffffffff"]);
        if version == 17 {
            assert_eq!([0, 1, 2].map(|level| of_domains[level][1]), ["SMT", "MC", "NUMA"]);
        }
    }
}

#[test]
fn clusters_have_a_domain_since_5_16() {
    // CPU 5's domains: four CPUs of a cluster, 32 of a node, and the nodes by distance. Names are in version 17.
    for (kernel_name, levels) in [
        ("linux-5.14", ["domain0 ffffffff", "domain1 ffffffff,ffffffff"]),
        ("linux-6.1", ["domain0 000000f0", "domain1 ffffffff"]),
        ("linux-6.12", ["domain0 000000f0", "domain1 ffffffff"]),
        ("linux-6.18", ["domain0 CLS 000000f0", "domain1 MC ffffffff"]),
    ] {
        let text = report(&run("kunpeng920", kernel_name, crowd(140, 3), on())).file();
        let of_cpu = text.lines().skip_while(|line| !line.starts_with("cpu5 ")).skip(1);
        for (line, level) in of_cpu.zip(levels) {
            // Leading words of the mask are 0.
            let line = line.replace("00000000,", "");
            assert!(line.starts_with(&format!("{level} ")), "{kernel_name}: {line}");
        }
    }
}

#[test]
fn a_tasks_file_has_its_statistics_only_while_they_are_on() {
    let outcome = run("i7-3770", "linux-5.14", crowd(12, 5), on());
    let layout = report(&outcome).layout;
    let task = &outcome.tasks[3];
    let text = task.file(4, &layout, true);
    let counts = task.statistics.unwrap();
    let rule = "-".repeat(67);
    assert!(text.starts_with(&format!("{} (4, #threads: 1)\n{rule}\n", task.name)));
    let waits = format!("{:<45}:{:>21}\n", "se.statistics.wait_count", counts.wait_count);
    assert!(text.contains(&waits), "{text}");
    let (ms, ns) = (counts.wait_sum_ns / 1_000_000, counts.wait_sum_ns % 1_000_000);
    assert!(text.contains(&format!("{:<45}:{ms:>14}.{ns:06}\n", "se.statistics.wait_sum")), "{text}");
    let off = task.file(4, &layout, false);
    assert!(!off.contains("wait") && off.contains("nr_switches"), "{off}");
}

#[test]
fn a_tasks_file_contains_the_number_of_threads_of_its_process() {
    // Threads belong to the main task's process, which has one more thread.
    let group = |name, tasks, mode| group(name, tasks, mode, vec![compute(1000u64)]);
    let groups = vec![group("thread", 4, Mode::Thread), group("process", 2, Mode::Process)];
    let outcome = run("laptop-4", "linux-6.12", program(groups, Resources::default()), on());
    let layout = report(&outcome).layout;
    for (at, task) in outcome.tasks.iter().enumerate() {
        let threads = if at < 4 { 5 } else { 1 };
        let text = task.file(at + 1, &layout, true);
        assert!(text.contains(&format!("({}, #threads: {threads})\n", at + 1)), "{text}");
    }
}
