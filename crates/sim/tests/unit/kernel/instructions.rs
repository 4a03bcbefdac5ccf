use crate::kernel::kernel;
use crate::machine::{Costs, Distance, machine};
use schedlab_workload::library::kernel_path::{FORK_MAPPINGS, FORK_PAGES};
use schedlab_workload::program::MainMemory;

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

/// A round of pipetest contains the difference of the path: twice a wake-up, a sleep and a switch. At other distances a wake-up has the
/// waker's part alone.
#[test]
fn a_longer_round_raises_switch_and_wake_up() {
    let mut costs = machine("laptop-4").unwrap().costs;
    costs.instruction_ps = 1000;
    let old = kernel("linux-6.12").unwrap().instructions.unwrap();
    let mut new = old;
    new.pipe_round += 2000;
    new.pipe_wake += 300;
    let changed = new.costs(&old, &costs);
    let (switch, wakeup) = (changed.switch - costs.switch, changed.wakeup.core - costs.wakeup.core);
    assert!((998..=1000).contains(&(switch + wakeup)), "{switch} and {wakeup}");
    assert_eq!(changed.wakeup.llc - costs.wakeup.llc, 300);
}

/// A machine on which an instruction takes 1 ns and a wake-up the counted instructions.
fn counting(wakeup: u32) -> Costs {
    let mut costs = machine("laptop-4").unwrap().costs;
    (costs.instruction_ps, costs.wakeup.core) = (1000, wakeup);
    costs
}

/// Linux 5.10, counted: writing 1288 instructions, 1087 behind another message; reading 1207, 1136 before another; a system call has
/// 665, and half of a message 582 beside it. Sending over a socket takes 2968, receiving 2148.
#[test]
fn parts_of_messages_are_differences_from_half_a_message() {
    let parts = kernel("linux-5.10").unwrap().instructions.unwrap().parts(&counting(1000));
    let pipe = [parts.pipe_write, parts.pipe_append, parts.pipe_read, parts.pipe_take];
    assert_eq!(pipe, [1288, 1087, 1207, 1136].map(|counted| counted - 665 - 582));
    assert_eq!((parts.unix_send, parts.unix_receive), (410, -410));
}

/// Linux 5.10, counted: of 1971 instructions of a wake-up and the sleep before it, 1257 are the waker's. Linux 6.12's paths leave none
/// for the sleeper.
#[test]
fn the_sleeper_has_what_the_waker_leaves() {
    for (name, dequeue) in [("linux-5.10", 714), ("linux-6.12", 0)] {
        let mut costs = counting(1971);
        costs.parts = kernel(name).unwrap().instructions.unwrap().parts(&costs);
        assert!(costs.parts.dequeue.abs_diff(dequeue) <= 1, "{name}: {}", costs.parts.dequeue);
        assert_eq!(costs.waking(Distance::Core) + u64::from(costs.parts.dequeue), 1971, "{name}");
        assert_eq!(costs.waking(Distance::Far), u64::from(costs.wakeup.far), "{name}");
    }
}

/// Numbers that no kernel has make no cost negative.
#[test]
fn impossible_instructions_leave_costs_in_their_range() {
    let mut counted = kernel("linux-5.10").unwrap().instructions.unwrap();
    counted.pipe_wake = 0;
    counted.pipe_append = u32::MAX;
    counted.pipe_take = 0;
    let mut costs = counting(1971);
    costs.instruction_ps = 1_000_000;
    costs.parts = counted.parts(&costs);
    assert!(costs.parts.dequeue <= 1971);
    assert_eq!(costs.pipe_read(1, true), 0);
    assert_eq!(costs.waking(Distance::Core), 0);
}

/// A fork and the child's exit take longer by the counted instructions of inherited mappings and pages, in the proportion of both.
#[test]
fn inherited_memory_lengthens_fork_and_exit() {
    let mut costs = counting(1000);
    let instructions = kernel("linux-5.10").unwrap().instructions.unwrap();
    costs.parts = instructions.parts(&costs);
    let memory = |mappings, pages| MainMemory { mappings, pages, written: 0 };
    assert_eq!(costs.fork_and_exit(memory(0, 0)), (costs.fork, costs.exit));
    let more = |memory| {
        let (fork, exit) = costs.fork_and_exit(memory);
        (fork - costs.fork, exit - costs.exit)
    };
    let (fork, exit) = more(memory(1, FORK_PAGES));
    let counted = instructions.fork_pages - instructions.fork;
    assert!((fork + exit).abs_diff(counted) <= 8, "{fork} + {exit}: {counted}");
    let shares = i64::from(fork) * i64::from(costs.exit) - i64::from(exit) * i64::from(costs.fork);
    assert!(shares.abs() < 200_000, "in proportion: {fork} and {exit}");
    let (fork, exit) = more(memory(FORK_MAPPINGS, FORK_PAGES));
    let counted = instructions.fork_mappings - instructions.fork;
    assert!((fork + exit).abs_diff(counted) <= 8, "{fork} + {exit}: {counted}");
}

#[test]
fn a_pass_takes_the_instructions_of_its_groups_and_cpus() {
    let costs = Costs { instruction_ps: 500, ..machine("laptop-4").unwrap().costs };
    let pass = kernel("linux-5.14").unwrap().balance_pass;
    assert_eq!(pass.ns(&costs, 2, 16), (450 + 2 * 133 + 16 * 95) / 2);
    assert_eq!(pass.declined_ns(&costs, 3), (133 + 3 * 55) / 2);
}
