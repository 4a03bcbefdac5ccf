use super::Realtime;

#[test]
fn higher_priorities_run_first_and_equal_priorities_take_turns() {
    let mut queue = Realtime::default();
    for (priority, task) in [(5, 1), (9, 2), (5, 3)] {
        queue.insert(priority, task, false);
    }
    queue.insert(5, 4, true);
    assert_eq!(queue.highest(), Some(9));
    assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), [2, 4, 1, 3]);
}
