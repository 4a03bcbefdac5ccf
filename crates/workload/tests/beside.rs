//! A workload with a load beside it is one program.

use schedlab_workload::library::{Values, workloads};
use schedlab_workload::program::{Op, Quantity, Repeat};
use schedlab_workload::{ParameterError, Plan, Program};

fn beside(name: &str, load: &str) -> Result<Program, ParameterError> {
    let workload = workloads().into_iter().find(|each| each.name == name).unwrap();
    let values = Values::from_iter([("beside".to_owned(), load.into())]);
    workload.prepare(values, 4).map(|prepared| prepared.program)
}

#[test]
fn every_pair_of_workloads_is_a_program_or_refused_for_its_cpu_time() {
    let names: Vec<_> = workloads().iter().map(|workload| workload.name).collect();
    let mut refused = 0;
    for name in &names {
        let alone = workloads().into_iter().find(|each| each.name == *name).unwrap();
        let alone = Plan::new(alone.prepare(Values::new(), 4).unwrap().program).unwrap();
        for load in &names {
            match beside(name, load) {
                Ok(program) => {
                    let plan =
                        Plan::new(program).unwrap_or_else(|error| panic!("{name} beside {load}: {error}"));
                    assert_eq!(plan.awaited_tasks(), alone.awaited_tasks(), "{name} beside {load}");
                    assert_eq!(plan.counted_tasks(), alone.counted_tasks(), "{name} beside {load}");
                    assert!(plan.task_count() > alone.task_count(), "{name} beside {load}");
                    let metrics = alone.program().metrics.iter();
                    let counted: Vec<_> =
                        metrics.filter(|each| each.quantity != Quantity::Lifetime).collect();
                    assert!(plan.program().metrics.iter().eq(counted), "{name} beside {load}");
                }
                Err(error) => {
                    assert!(error.reason.contains("CPU time"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 0 && refused < names.len() * names.len() / 4, "{refused}");
}

/// The bodies of replicas become bodies of groups, in which the number of the replica would have another meaning.
#[test]
fn no_workload_uses_the_number_of_the_replica() {
    for workload in workloads() {
        let program = workload.prepare(Values::new(), 4).unwrap().program;
        for group in &program.groups {
            let body = serde_json::to_string(&group.body).unwrap();
            assert!(!body.contains("\"replica\""), "{}: {body}", workload.name);
        }
    }
}

#[test]
fn replicas_become_groups_with_resources_of_their_own() {
    let program = beside("hackbench", "hackbench groups=2 fds=3").unwrap();
    let names: Vec<_> = program.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names[..3], ["receiver.0", "sender.0", "receiver.1"]);
    let load = ["receiver.0", "sender.0", "receiver.1", "sender.1"].map(|name| format!("beside-{name}"));
    assert_eq!(names[names.len() - 4..], load);
    let channels: Vec<_> =
        program.resources.channels.iter().map(|each| (each.name.as_str(), each.count)).collect();
    assert_eq!(channels[channels.len() - 2..], [("beside-data.0", 3), ("beside-data.1", 3)]);
    assert_eq!(program.replicas, 1);
}

#[test]
fn a_load_has_no_end_and_no_window() {
    let program = beside("pipetest", "yield warmup=1s duration=2s").unwrap();
    assert_eq!(program.window, None);
    let load = program.groups.iter().find(|group| group.background).unwrap();
    assert!(matches!(&load.body[..], [Op::Set { .. }, Op::Loop { repeat: Repeat::Count(_), .. }]));
    let windows = load.body.iter().flat_map(Op::all);
    assert_eq!(windows.filter(|op| matches!(op, Op::Loop { repeat: Repeat::Window, .. })).count(), 0);
}

#[test]
fn a_wrong_load_is_refused_with_its_fault() {
    for (load, fault) in [
        ("", "must be one of hackbench"),
        ("cyclictest", "must be one of hackbench"),
        ("hackbench groups", "NAME=VALUE"),
        ("hackbench groups=x", "whole number"),
        ("hackbench groups=0", "groups"),
        ("hackbench clients=2", "no such parameter"),
        ("hackbench ipc=smoke", "must be one of"),
        ("yield duration=2m", "ambiguous"),
        ("yield beside=yield", "NAME=VALUE"),
        ("scripts seed=1", "seed"),
        ("hackbench fifo=true", "main thread"),
        ("schedbench disturbance=1", "disturbance"),
    ] {
        let error = beside("pipetest", load).unwrap_err();
        assert_eq!(error.parameter, "beside");
        assert!(error.reason.contains(fault), "{load}: {error}");
    }
}
