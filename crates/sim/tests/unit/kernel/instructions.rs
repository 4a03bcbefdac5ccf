use crate::kernel::kernel;
use crate::machine::machine;

/// The machine's table applies under the machine's kernel without a change.
#[test]
fn costs_under_the_same_instructions_are_equal() {
    let costs = machine("laptop-4").unwrap().costs;
    let instructions = kernel("linux-6.12").unwrap().instructions.unwrap();
    assert_eq!(instructions.costs(&instructions, &costs), costs);
}

/// More instructions of a path raise the costs of this path, by the machine's time per instruction.
#[test]
fn more_instructions_of_a_path_raise_only_its_costs() {
    let mut costs = machine("laptop-4").unwrap().costs;
    costs.instruction_ps = 500;
    let old = kernel("linux-6.12").unwrap().instructions.unwrap();
    let mut new = old;
    new.unix += 800;
    new.exec += 10_000;
    new.tcp += 4000;
    let changed = new.costs(&old, &costs);
    assert_eq!(
        changed.unix,
        costs.unix + 200,
        "half of the path's 800 instructions for each of two messages"
    );
    assert_eq!(changed.exec, costs.exec + 5000);
    let tcp = |each: &crate::machine::Costs| each.tcp_send + each.tcp_receive;
    assert!((tcp(&costs) + 1998..=tcp(&costs) + 2000).contains(&tcp(&changed)), "rounded down twice");
    assert!(changed.tcp_send - costs.tcp_send > changed.tcp_receive - costs.tcp_receive, "in proportion");
    assert_eq!((changed.pipe, changed.switch, changed.wakeup), (costs.pipe, costs.switch, costs.wakeup));
}

/// A round of pipetest contains the difference of the path: twice a wake-up and a switch.
#[test]
fn a_longer_round_raises_switch_and_wake_up_at_every_distance() {
    let mut costs = machine("laptop-4").unwrap().costs;
    costs.instruction_ps = 1000;
    let old = kernel("linux-6.12").unwrap().instructions.unwrap();
    let mut new = old;
    new.pipe_round += 2000;
    let changed = new.costs(&old, &costs);
    let (switch, wakeup) = (changed.switch - costs.switch, changed.wakeup.core - costs.wakeup.core);
    assert!((998..=1000).contains(&(switch + wakeup)), "{switch} and {wakeup}");
    assert_eq!(changed.wakeup.llc - costs.wakeup.llc, wakeup);
}
