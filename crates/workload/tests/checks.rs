//! Mistakes in a program are reported with their place before the program runs.

use schedlab_workload::library::hackbench::Hackbench;
use schedlab_workload::library::schedbench::Schedbench;
use schedlab_workload::program::{
    Branch, ChannelKind, Expr, Image, MainMemory, Mode, Op, Operation, Repeat, Scope, at, channels, compute,
    count, group, receive, reply, send, slots, stamp, times, within_window,
};
use schedlab_workload::{Plan, Program, ProgramError};

fn with_body(body: Vec<Op>) -> Program {
    let mut program = Hackbench { groups: 1, fds: 2, loops: 1, ..Hackbench::default() }.program().unwrap();
    program.resources.channels[0].kind = ChannelKind::Pipe;
    program.resources.slots = vec![slots("slot", 1, Scope::Task)];
    program.groups.push(group("third", 3, Mode::Process, body));
    program
}

fn refusal(body: Vec<Op>) -> String {
    Plan::new(with_body(body)).expect_err("the body is wrong").to_string()
}

#[test]
fn an_index_that_can_leave_its_range_names_group_resource_and_reach() {
    assert_eq!(
        refusal(vec![send(at("data", Expr::task()), 1u64)]),
        "group `third`: the index of channel `data` can reach 2, but only 2 exist (0 to 1)"
    );
    assert!(Plan::new(with_body(vec![send(at("data", Expr::task() % 2u64), 1u64)])).is_ok());
}

#[test]
fn loop_indices_are_checked_by_the_loop_count() {
    let body = |count: u64| vec![times(count, vec![send(at("data", Expr::loop_index(0)), 1u64)])];
    assert!(Plan::new(with_body(body(2))).is_ok());
    assert!(refusal(body(3)).contains("can reach 2"));
    assert!(refusal(vec![send(at("data", Expr::loop_index(0)), 1u64)]).contains("inside 0 loop(s)"));
}

#[test]
fn an_unknown_name_is_refused_with_the_known_names() {
    assert_eq!(
        refusal(vec![stamp("slott")]),
        "group `third` uses slot `slott`, which the program does not define (defined: slot)"
    );
    assert!(refusal(vec![count("bytes", 1u64)]).contains("(defined: none)"));
}

#[test]
fn a_pipe_has_no_backward_direction() {
    assert!(refusal(vec![reply("data", 1u64)]).contains("no backward direction"));
}

#[test]
fn messages_without_a_receiver_are_refused() {
    let mut program = with_body(vec![send("lonely", 1u64)]);
    program.resources.channels.push(channels("lonely", ChannelKind::Tcp, 1));
    let error = Plan::new(program).unwrap_err().to_string();
    assert_eq!(error, "channel `lonely`: messages are sent forward, but no task receives them");
}

#[test]
fn an_end_is_used_by_processes_or_by_threads() {
    let mut program = with_body(vec![send("data", 1u64)]);
    program.groups[2].mode = Mode::Thread;
    let error = Plan::new(program).unwrap_err().to_string();
    assert!(error.contains("used by both processes and threads"), "{error}");
}

#[test]
fn divisors_that_can_be_zero_are_refused() {
    let half = |divisor: Expr| Expr::from(Operation::Div(Expr::Const(4), divisor));
    assert!(refusal(vec![compute(half(Expr::task()))]).contains("divisor can be 0"));
    assert!(Plan::new(with_body(vec![compute(half(Expr::task() + 1u64))])).is_ok());
}

#[test]
fn empty_messages_and_choices_without_weight_are_refused() {
    assert!(refusal(vec![receive("data", Expr::task())]).contains("0 bytes"));
    let choice = Op::Choose { branches: vec![Branch { weight: 0, body: vec![] }] };
    assert!(refusal(vec![choice]).contains("add up to 0"));
}

#[test]
fn messages_over_the_size_limit_are_refused() {
    assert!(
        refusal(vec![send("data", Expr::random(1u64, u64::MAX))]).contains("over the limit of 1073741824")
    );
}

#[test]
fn each_kind_of_channel_supports_certain_ways_to_receive() {
    use schedlab_workload::program::{Direction, Take, receive_by};
    let body = |take| vec![receive_by("data", 1u64, Direction::Forward, take)];
    assert!(refusal(body(Take::WaitAll)).contains("only sockets"));
    assert!(refusal(body(Take::Discard)).contains("only TCP can discard"));
    assert!(refusal(body(Take::Poll)).contains("can be read with poll or epoll"));
    assert!(refusal(body(Take::Epoll)).contains("can be read with poll or epoll"));
    assert!(Plan::new(with_body(body(Take::Available))).is_ok());
}

#[test]
fn a_window_loop_needs_a_window() {
    assert!(refusal(vec![within_window(vec![Op::Yield])]).contains("no window"));
}

#[test]
fn a_loop_without_count_needs_a_body() {
    assert!(refusal(vec![Op::Loop { repeat: Repeat::UntilClosed, body: vec![] }]).contains("needs a body"));
}

#[test]
fn exec_is_the_last_operation_of_a_process() {
    let exec = || Op::Exec {
        image: Image::Command { argv: vec!["true".to_owned()], model_ns: 0, model: Vec::new() },
    };
    assert!(refusal(vec![exec(), Op::Yield]).contains("nothing after an exec"));
    let mut program = with_body(vec![exec()]);
    program.groups[2].mode = Mode::Thread;
    assert!(Plan::new(program.clone()).unwrap_err().to_string().contains("thread cannot exec"));
    program.groups[2].body = vec![Op::Fork { body: vec![exec()] }];
    assert!(Plan::new(program).is_ok());
}

#[test]
fn the_nesting_of_loops_is_limited() {
    let nested = |depth: u64| (0..depth).fold(vec![Op::Yield], |body, _| vec![times(1u64, body)]);
    assert!(Plan::new(with_body(nested(8))).is_ok());
    assert!(refusal(nested(9)).contains("more than 8 loops"));
}

#[test]
fn names_are_unique_and_counts_positive() {
    let mut program = with_body(vec![]);
    program.groups[2].name = "sender".to_owned();
    assert_eq!(
        Plan::new(program).unwrap_err(),
        ProgramError::Duplicate { kind: "group", name: "sender".to_owned() }
    );
    let mut program = with_body(vec![]);
    program.groups[2].count = 0;
    assert_eq!(Plan::new(program).unwrap_err().to_string(), "count of group `third` must be at least 1");
}

#[test]
fn documents_of_another_schema_or_with_unknown_keys_are_refused() {
    let mut program = with_body(vec![]);
    program.schema = 7;
    assert!(matches!(Plan::new(program), Err(ProgramError::Schema { schema: 7, .. })));
    let text = r#"{"schema": 1, "name": "x", "groups": [], "metrics": [], "colour": 3}"#;
    let error = serde_json::from_str::<Program>(text).unwrap_err().to_string();
    assert!(error.contains("unknown field `colour`"), "{error}");
}

#[test]
fn sizes_over_the_limit_are_refused_without_overflow() {
    let mut program = with_body(vec![]);
    program.groups[2].count = u32::MAX;
    program.replicas = u32::MAX;
    assert!(matches!(Plan::new(program), Err(ProgramError::TooMany { .. })));
}

#[test]
fn a_disturbance_starts_after_programs_without_a_gate() {
    let schedbench = Schedbench { disturbance: 1, ..Schedbench::default() }.program().unwrap();
    assert!(Plan::new(schedbench.clone()).is_ok());
    let refused = |change: fn(&mut Program)| {
        let mut program = schedbench.clone();
        change(&mut program);
        Plan::new(program).expect_err("the program is wrong").to_string()
    };
    let reason = "a disturbance is the last of several groups of one replica that all start as programs";
    assert_eq!(refused(|program| program.groups[0].program = false), format!("group `peak`: {reason}"));
    assert!(refused(|program| program.groups.reverse()).contains(reason));
    assert!(refused(|program| program.replicas = 2).contains(reason));
}

/// Each mapping has at least one page, and a task writes no more pages than there are.
#[test]
fn memory_of_the_main_thread_has_pages_for_its_mappings_and_writes() {
    let refusal = |mappings, pages, written| {
        let main_memory = MainMemory { mappings, pages, written };
        let program = Program { main_memory, ..Hackbench::default().program().unwrap() };
        Plan::new(program).expect_err("the numbers are wrong").to_string()
    };
    assert_eq!(refusal(3, 2, 0), "main_memory: pages = 2: must be from 3 to 4194304");
    assert_eq!(refusal(0, 1, 0), "main_memory: pages = 1: must be from 0 to 0");
    assert_eq!(refusal(2, 2, 3), "main_memory: written = 3: must be from 0 to 2");
    assert_eq!(refusal(40_000, 40_000, 0), "main_memory: mappings = 40000: must be from 0 to 32768");
    let hackbench = Hackbench { written_pages: 1, ..Hackbench::default() }.program().unwrap_err();
    assert_eq!(hackbench.to_string(), "written_pages = 1: must be from 0 to 0");
}

#[test]
fn only_processes_that_execute_nothing_inherit_memory_of_the_main_thread() {
    let refusal = |program: Program| {
        let main_memory = MainMemory { mappings: 1, pages: 1, written: 1 };
        Plan::new(Program { main_memory, ..program }).expect_err("nothing inherits").to_string()
    };
    let threads = Hackbench { mode: Mode::Thread, ..Hackbench::default() }.program().unwrap();
    assert!(refusal(threads).contains("no task is a process"));
    let image = Image::Work { ns: 1u64.into(), bytes: 0u64.into(), files: 0u64.into() };
    assert!(refusal(with_body(vec![Op::Exec { image }])).contains("execute an image"));
    let beside = Hackbench::default()
        .program()
        .unwrap()
        .beside(Hackbench { main_mappings: 1, main_pages: 1, ..Hackbench::default() }.program().unwrap());
    assert!(beside.unwrap_err().contains("with its memory"));
}
