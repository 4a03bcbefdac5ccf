//! Properties that hold for every parameter of every library program.

use std::collections::BTreeMap;

use proptest::prelude::*;
use schedlab_workload::check::ends::End;
use schedlab_workload::code::Code;
use schedlab_workload::library::hackbench::{Carrier, Hackbench};
use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::program::{Direction, Mode};
use schedlab_workload::{Cursor, Plan, Program, Step};

/// Return the bytes sent and received by all tasks, by channel and direction.
fn traffic(plan: &Plan) -> BTreeMap<(u32, bool), (u64, u64)> {
    let mut totals: BTreeMap<(u32, bool), (u64, u64)> = BTreeMap::new();
    for task in plan.tasks() {
        let code = Code::new(plan, task);
        let mut cursor = Cursor::new(&code, 0);
        loop {
            match cursor.next(|| 0) {
                Step::Send { channel, bytes, direction } => {
                    totals.entry((channel, direction == Direction::Forward)).or_default().0 += bytes;
                }
                Step::Receive { channel, bytes, direction, .. } => {
                    totals.entry((channel, direction == Direction::Forward)).or_default().1 += bytes;
                }
                Step::End => break,
                _ => {}
            }
        }
    }
    totals
}

fn round_trip(program: &Program) -> Program {
    let json = serde_json::to_string(program).expect("a program is serialisable");
    serde_json::from_str(&json).expect("the JSON is a program")
}

prop_compose! {
    fn hackbench()(
        groups in 1u32..5,
        fds in 1u32..6,
        loops in 1u64..8,
        datasize in 1u64..2000,
        channel in prop_oneof![Just(Carrier::Socket), Just(Carrier::Pipe), Just(Carrier::Inet)],
        mode in prop_oneof![Just(Mode::Process), Just(Mode::Thread)],
        fifo in any::<bool>(),
    ) -> Hackbench {
        Hackbench { groups, fds, loops, datasize, channel, mode, fifo, ..Hackbench::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_that_hackbench_sends_is_received(parameters in hackbench()) {
        let plan = Plan::new(parameters.program().unwrap()).unwrap();
        let totals = traffic(&plan);
        prop_assert_eq!(totals.len() as u32, parameters.groups * parameters.fds);
        for (sent, received) in totals.values() {
            prop_assert_eq!(sent, received);
            let messages = parameters.loops * u64::from(parameters.fds);
            prop_assert_eq!(*sent, messages * parameters.datasize);
        }
    }

    #[test]
    fn hackbench_has_twice_as_many_tasks_as_channels(parameters in hackbench()) {
        let plan = Plan::new(parameters.program().unwrap()).unwrap();
        prop_assert_eq!(u64::from(plan.task_count()), parameters.tasks());
        prop_assert_eq!(plan.task_count(), 2 * plan.channels().total());
    }

    #[test]
    fn hackbench_tasks_use_only_channels_of_their_own_group(parameters in hackbench()) {
        let plan = Plan::new(parameters.program().unwrap()).unwrap();
        for task in plan.tasks() {
            let uses = plan.channel_ends(task);
            let sender = plan.group(task).name == "sender";
            prop_assert_eq!(uses.len() as u32, if sender { parameters.fds } else { 1 });
            for each in uses {
                prop_assert_eq!(each.channel / parameters.fds, task.replica);
                prop_assert_eq!(each.end == End::Near, sender);
            }
        }
    }

    #[test]
    fn programs_are_unchanged_by_a_json_round_trip(parameters in hackbench(), loops in 1u64..1000, size in 1u64..100) {
        let program = parameters.program().unwrap();
        prop_assert_eq!(&round_trip(&program), &program);
        let program = Pipetest { loops, size, mode: parameters.mode }.program().unwrap();
        prop_assert_eq!(&round_trip(&program), &program);
    }

    #[test]
    fn every_byte_that_pipetest_sends_is_received(loops in 1u64..200, size in 1u64..100) {
        let plan = Plan::new(Pipetest { loops, size, mode: Mode::Process }.program().unwrap()).unwrap();
        for (sent, received) in traffic(&plan).values() {
            prop_assert_eq!(sent, received);
            prop_assert_eq!(*sent, loops * size);
        }
    }

    #[test]
    fn tasks_are_numbered_in_the_order_of_creation(parameters in hackbench()) {
        let plan = Plan::new(parameters.program().unwrap()).unwrap();
        for (position, task) in plan.tasks().enumerate() {
            prop_assert_eq!(task.ordinal as usize, position);
            prop_assert!(task.index < plan.group(task).count);
        }
    }
}

#[test]
fn a_parameter_out_of_range_is_named_with_its_range() {
    let error = Hackbench { fds: 0, ..Hackbench::default() }.program().unwrap_err();
    assert_eq!(error.to_string(), "fds = 0: must be from 1 to 10000");
    let error = Pipetest { loops: 0, ..Pipetest::default() }.program().unwrap_err();
    assert_eq!(error.parameter, "loops");
}
