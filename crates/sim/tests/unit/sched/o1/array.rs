use super::Arrays;

fn tails(arrays: &Arrays, array: u8) -> Vec<u32> {
    let mut tasks = Vec::new();
    arrays.each_from_tails(array, |task| {
        tasks.push(task);
        true
    });
    tasks
}

#[test]
fn best_returns_the_first_task_of_the_best_list() {
    let mut arrays = Arrays::default();
    let worst = arrays.push(1, 0, 139);
    let better = arrays.push(2, 0, 120);
    arrays.push(3, 0, 120);
    let best = arrays.push(4, 0, 0);
    assert_eq!(arrays.best(0), Some(4));
    arrays.remove(best);
    assert_eq!(arrays.best(0), Some(2));
    arrays.transfer(better, 0, 120);
    assert_eq!((arrays.best(0), tails(&arrays, 0)), (Some(3), vec![2, 3, 1]));
    arrays.transfer(worst, 1, 100);
    assert_eq!((arrays.best(1), arrays.number(0), arrays.number(1)), (Some(1), 2, 1));
    arrays.verify();
}

#[test]
fn task_pushed_behind_another_is_the_last_of_the_ring_that_begins_there() {
    let mut arrays = Arrays::default();
    let parent = arrays.push(1, 1, 118);
    arrays.push(2, 1, 118);
    arrays.push_behind(3, parent);
    // Ring from the parent: 1, 2, 3. The list begins with 3.
    assert_eq!((arrays.best(1), tails(&arrays, 1)), (Some(3), vec![2, 1, 3]));
    let second = arrays.push(4, 1, 118);
    arrays.push_behind(5, second);
    assert_eq!(tails(&arrays, 1), [4, 5, 2, 1, 3]);
    arrays.verify();
}
