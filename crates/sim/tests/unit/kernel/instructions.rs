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

/// The parts of a message add up to the message, and the sleeper's part of a wake-up is less than the wake-up.
#[test]
fn parts_divide_the_costs_of_messages_and_wake_ups() {
    for name in ["linux-4.5", "linux-5.10", "linux-6.1", "linux-6.12", "linux-6.18", "linux-7.2"] {
        let mut costs = machine("laptop-4").unwrap().costs;
        costs.instruction_ps = 1000;
        let counted = kernel(name).unwrap().instructions.unwrap();
        let parts = counted.parts(&costs);
        assert!((-1..=1).contains(&(parts.pipe_write + parts.pipe_read)), "{name}: {parts:?}");
        assert_eq!(parts.unix_send, -parts.unix_receive, "{name}");
        assert!(
            parts.pipe_append < parts.pipe_write && parts.pipe_take < parts.pipe_read,
            "{name}: {parts:?}"
        );
        assert!(parts.unix_send > 0, "{name}: a sender allocates and fills the message's memory");
        assert!(parts.sleep < costs.wakeup.core / 2, "{name}: {parts:?}");
    }
    let counted = kernel("linux-5.10").unwrap().instructions.unwrap();
    let costs = machine("laptop-4").unwrap().costs;
    let share = f64::from(counted.parts(&costs).sleep) / f64::from(costs.wakeup.core);
    assert!((0.3..0.45).contains(&share), "of 1970 instructions 1257 are the waker's: {share}");
}
