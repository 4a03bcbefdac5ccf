use super::{Rank, Realtime};

#[test]
fn higher_priorities_run_first_and_equal_priorities_take_turns() {
    let mut queue = Realtime::default();
    for (priority, task) in [(5, 1), (9, 2), (5, 3)] {
        queue.insert(Rank::of_priority(priority), task, false);
    }
    queue.insert(Rank::of_priority(5), 4, true);
    assert_eq!(queue.highest(), Rank::of_priority(9));
    assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), [2, 4, 1, 3]);
}

#[test]
fn deadline_tasks_run_before_real_time_tasks_and_earlier_deadlines_first() {
    let ranks = [Rank::of_deadline(2_000_000), Rank::of_priority(99), Rank::of_deadline(1_000_000)];
    let mut queue = Realtime::default();
    (0..3).for_each(|task| queue.insert(ranks[task as usize], task, false));
    assert_eq!(queue.tasks().collect::<Vec<_>>(), [2, 0, 1]);
    assert_eq!(ranks.map(Rank::is_deadline), [true, false, true]);
}
