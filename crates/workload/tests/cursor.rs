//! Steps of a body: control flow, arithmetic, random choices, forks.

use proptest::prelude::*;
use schedlab_workload::code::Code;
use schedlab_workload::library::hackbench::Hackbench;
use schedlab_workload::program::{
    Branch, ChannelKind, Direction, Expr, Mode, Op, Operation, Program, Repeat, Scope, Window, at, channels,
    compute, group, receive, send, times, until_closed, with, within_window,
};
use schedlab_workload::{Cursor, Plan, Step};

/// Return the plan of two replicas, each with eight pipes `p` and a group of three tasks that run `body`.
fn plan(body: Vec<Op>) -> Plan {
    let base = Hackbench { groups: 2, fds: 1, loops: 1, ..Hackbench::default() }.program().unwrap();
    let mut resources = base.resources.clone();
    resources.channels = vec![channels("p", ChannelKind::Pipe, 8)];
    let peers = vec![times(8u64, vec![receive(at("p", Expr::loop_index(0)), 1u64), send("p", 1u64)])];
    let groups = vec![group("task", 3, Mode::Process, body), group("peer", 1, Mode::Process, peers)];
    let window = Some(Window { warmup_ns: 10, duration_ns: 90 });
    Plan::new(Program { resources, groups, window, seed: 5, ..base }).expect("the program is right")
}

fn steps(plan: &Plan, ordinal: u32) -> Vec<Step> {
    let code = Code::new(plan, plan.task(ordinal));
    let mut cursor = Cursor::new(&code, 100);
    std::iter::from_fn(|| Some(cursor.next(|| 0)).filter(|step| *step != Step::End)).collect()
}

fn computed(plan: &Plan, ordinal: u32) -> Vec<u64> {
    let ns = |step| if let Step::Compute { ns } = step { Some(ns) } else { None };
    steps(plan, ordinal).into_iter().filter_map(ns).collect()
}

#[test]
fn loop_indices_count_up_and_include_outer_loops() {
    let inner = times(2u64, vec![compute(Expr::loop_index(1) * 10u64 + Expr::loop_index(0))]);
    assert_eq!(computed(&plan(vec![times(3u64, vec![inner])]), 0), [0, 1, 10, 11, 20, 21]);
}

#[test]
fn a_named_value_is_drawn_once_for_its_body() {
    let draw = Expr::random(0u64, 1_000_000u64);
    let body =
        vec![with(draw, vec![compute(Expr::loop_index(0)), compute(Expr::loop_index(0))]), compute(3u64)];
    let ns = computed(&plan(body), 0);
    assert_eq!(ns.len(), 3);
    assert_eq!((ns[0], ns[2]), (ns[1], 3));
}

#[test]
fn more_returns_the_rest_of_a_burst() {
    let plan = plan(vec![times(5u64, vec![send(at("p", Expr::loop_index(0)), 1u64)]), compute(7u64)]);
    let code = Code::new(&plan, plan.task(0));
    let mut cursor = Cursor::new(&code, 100);
    assert!(matches!(cursor.next(|| 0), Step::Send { channel: 0, .. }));
    assert!(matches!(cursor.next(|| 0), Step::Send { channel: 1, .. }));
    assert_eq!(cursor.more(), (3, 1));
    assert_eq!(cursor.next(|| 0), Step::Compute { ns: 7 });
    assert_eq!(cursor.more().0, 0);
}

#[test]
fn a_loop_with_count_zero_is_skipped() {
    let body = vec![times(Expr::task(), vec![compute(7u64)]), compute(9u64)];
    assert_eq!(computed(&plan(body.clone()), 0), [9]);
    assert_eq!(computed(&plan(body), 2), [7, 7, 9]);
}

#[test]
fn expressions_can_use_the_numbers_of_task_and_replica() {
    let body = vec![compute(Expr::replica() * 100u64 + Expr::task())];
    let plan = plan(body);
    let all: Vec<u64> = plan.tasks().flat_map(|task| computed(&plan, task.ordinal)).collect();
    assert_eq!(all, [0, 1, 2, 100, 101, 102]);
}

/// Steps of a task whose code was flattened for all replicas, at another task in the same place.
fn steps_of_replicas(plan: &Plan, flattened: u32, ordinal: u32) -> (bool, Vec<Step>) {
    let [code, own] = [flattened, ordinal].map(|at| Code::of_replicas(plan, plan.task(at)));
    let mut cursor = Cursor::of_task(&code, plan.task(ordinal), 100);
    let steps = std::iter::from_fn(|| Some(cursor.next(|| 0)).filter(|step| *step != Step::End)).collect();
    (code.has_steps_of(&own), steps)
}

#[test]
fn replicas_share_a_code_and_have_their_own_numbers() {
    let body = vec![send("p", Expr::replica() * 3u64 + 5u64), compute(Expr::replica())];
    let plan = plan(body);
    let direction = Direction::Forward;
    let expected = vec![Step::Send { channel: 8, bytes: 8, direction }, Step::Compute { ns: 1 }];
    assert_eq!(steps_of_replicas(&plan, 0, 4), (true, expected));
}

#[test]
fn channels_of_a_loop_and_other_expressions_are_not_shared() {
    let difference = Expr::from(Operation::Sub(Expr::replica(), Expr::Const(0)));
    for value in
        [difference, Expr::replica() * (Expr::replica() + 1u64), Expr::replica() * Expr::Const(1 << 40)]
    {
        let plan = plan(vec![compute(value)]);
        assert!(!steps_of_replicas(&plan, 0, 4).0);
        assert_eq!(steps_of_replicas(&plan, 4, 4).1, steps(&plan, 4));
    }
    let plan = plan(vec![times(2u64, vec![send(at("p", Expr::loop_index(0)), 1u64), Op::Yield])]);
    assert!(!steps_of_replicas(&plan, 0, 4).0);
}

/// Expressions of the task's numbers, of the innermost loop, and of constants, the largest included.
fn expressions() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        prop_oneof![0u64..9, Just(u64::from(u32::MAX)), Just(u64::MAX)].prop_map(Expr::Const),
        Just(Expr::task()),
        Just(Expr::replica()),
        Just(Expr::loop_index(0)),
        Just(Expr::random(0u64, 1000u64)),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        (inner.clone(), inner, 0..5usize).prop_map(|(a, b, kind)| {
            Expr::from(match kind {
                0 => Operation::Add(a, b),
                1 => Operation::Sub(a, b),
                2 => Operation::Mul(a, b),
                3 => Operation::Div(a, b + 1u64),
                _ => Operation::Rem(a, b + 1u64),
            })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn code_of_replicas_has_the_steps_of_each_tasks_own_code(ns in expressions(), scope in 0..3usize) {
        let mut program = plan(vec![times(3u64, vec![compute(ns), send("p", 1u64)])]).program().clone();
        program.resources.channels[0].scope = [Scope::Task, Scope::Replica, Scope::Program][scope];
        let plan = Plan::new(program).unwrap();
        for (first, other) in [(0, 4), (1, 5), (4, 4), (7, 7)] {
            let (shared, found) = steps_of_replicas(&plan, first, other);
            if shared {
                prop_assert_eq!(found, steps(&plan, other));
            }
        }
    }
}

#[test]
fn arithmetic_saturates() {
    let less = Expr::from(Operation::Sub(Expr::task(), Expr::Const(1)));
    assert_eq!(computed(&plan(vec![compute(less), compute(Expr::Const(u64::MAX) + 1u64)]), 0), [0, u64::MAX]);
}

#[test]
fn a_burst_has_the_steps_of_its_loop() {
    let message = |index: Expr| send(at("p", index), Expr::loop_index(1) + 1u64);
    let burst = times(2u64, vec![times(3u64, vec![message(Expr::loop_index(0) * 2u64 + 1u64)])]);
    // A second operation in the body keeps the loop from being flattened into a burst.
    let plain = times(2u64, vec![times(3u64, vec![message(Expr::loop_index(0) * 2u64 + 1u64), Op::Yield])]);
    let burst = steps(&plan(vec![burst]), 4);
    let plain: Vec<Step> =
        steps(&plan(vec![plain]), 4).into_iter().filter(|step| *step != Step::Yield).collect();
    assert_eq!(burst, plain);
    assert_eq!(burst.len(), 6);
}

#[test]
fn the_end_of_a_stream_ends_the_innermost_until_closed_loop() {
    for body in [vec![receive("p", 1u64)], vec![receive("p", 1u64), Op::Yield]] {
        let plan = plan(vec![times(2u64, vec![until_closed(body), compute(1u64)])]);
        let code = Code::new(&plan, plan.task(0));
        let mut cursor = Cursor::new(&code, 100);
        for _ in 0..2 {
            assert!(matches!(cursor.next(|| 0), Step::Receive { .. }));
            assert!(cursor.closed());
            assert_eq!(cursor.next(|| 0), Step::Compute { ns: 1 });
        }
        assert_eq!(cursor.next(|| 0), Step::End);
    }
}

#[test]
fn the_end_of_a_stream_outside_of_an_until_closed_loop_is_reported() {
    let plan = plan(vec![times(2u64, vec![receive("p", 1u64)])]);
    let code = Code::new(&plan, plan.task(0));
    let mut cursor = Cursor::new(&code, 100);
    assert!(matches!(cursor.next(|| 0), Step::Receive { .. }));
    assert!(!cursor.closed());
}

#[test]
fn loops_by_time_end_by_the_clock_of_the_caller() {
    let by_time = Op::Loop { repeat: Repeat::ForNs(Expr::Const(30)), body: vec![compute(1u64)] };
    let plan = plan(vec![by_time, compute(2u64), within_window(vec![compute(3u64)])]);
    let code = Code::new(&plan, plan.task(0));
    let mut cursor = Cursor::new(&code, 100);
    let mut now = 0;
    let mut computed_ns = Vec::new();
    while let Step::Compute { ns } = cursor.next(|| now) {
        computed_ns.push(ns);
        now += 20;
    }
    assert_eq!(computed_ns, [1, 1, 2, 3, 3]);
}

#[test]
fn random_draws_depend_on_seed_and_task_only() {
    let body = || vec![times(50u64, vec![compute(Expr::random(10u64, 20u64))])];
    let first = computed(&plan(body()), 1);
    assert_eq!(first, computed(&plan(body()), 1));
    assert_ne!(first, computed(&plan(body()), 2));
    assert!(first.iter().all(|ns| (10..20).contains(ns)));
    let mut program = plan(body()).program().clone();
    program.seed += 1;
    assert_ne!(first, computed(&Plan::new(program).unwrap(), 1));
}

#[test]
fn choices_follow_their_weights() {
    let branch = |weight, ns: u64| Branch { weight, body: vec![compute(ns)] };
    let choose = Op::Choose { branches: vec![branch(3, 1), branch(0, 2), branch(1, 3)] };
    let drawn = computed(&plan(vec![times(4000u64, vec![choose])]), 0);
    let share = drawn.iter().filter(|ns| **ns == 1).count() as f64 / drawn.len() as f64;
    assert!((0.70..0.80).contains(&share), "{share}");
    assert!(!drawn.contains(&2));
}

#[test]
fn a_child_runs_the_forked_body_with_the_parents_indices_and_its_own_draws() {
    let child = vec![compute(Expr::loop_index(0)), compute(Expr::random(0u64, u64::MAX))];
    let plan = plan(vec![times(2u64, vec![Op::Fork { body: child }]), compute(7u64)]);
    let code = Code::new(&plan, plan.task(0));
    let mut parent = Cursor::new(&code, 100);
    let mut draws = Vec::new();
    for index in 0..2 {
        assert_eq!(parent.next(|| 0), Step::Fork);
        let mut child = parent.child();
        assert_eq!(child.next(|| 0), Step::Compute { ns: index });
        let Step::Compute { ns } = child.next(|| 0) else { panic!("a computation") };
        draws.push(ns);
        assert_eq!(child.next(|| 0), Step::End);
        assert_eq!(child.next(|| 0), Step::End);
    }
    assert_ne!(draws[0], draws[1]);
    assert_eq!(parent.next(|| 0), Step::Compute { ns: 7 });
    assert_eq!(parent.next(|| 0), Step::End);
}
