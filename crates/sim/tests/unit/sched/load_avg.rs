use super::*;

const UNIT: u64 = weight::UNIT;

/// The average that a task has after `busy` ns of runnable time from nothing, by the continuous formula.
fn expected(busy: Ns) -> f64 {
    UNIT as f64 * (1.0 - 0.5f64.powf(busy as f64 / (32.0 * PERIOD as f64)))
}

#[test]
fn decay_halves_after_32_periods() {
    assert_eq!(decay_load(1 << 40, 32), 1 << 39);
    assert_eq!(decay_load(1 << 40, 96), 1 << 37);
    let y = (POWERS[31] * DECAY) >> 32;
    assert!((1 << 31) - y < 64, "the 32nd power of y is {y}, one half is 2147483648");
}

#[test]
fn an_average_approaches_the_load() {
    for periods in [1, 2, 16, 32, 64, 320] {
        let mut load = Averages::<1>::default();
        load.update(periods * PERIOD, [UNIT]);
        let expected = expected(periods * PERIOD);
        assert!(
            (load.averages[0] as f64 - expected).abs() < 2.0,
            "{periods} periods: {} of {expected}",
            load.averages[0]
        );
    }
}

#[test]
fn many_updates_give_the_average_of_one() {
    let (mut often, mut once) = (Averages::<1>::default(), Averages::<1>::default());
    for at in 1..=1000 {
        often.update(at * 123_457, [UNIT]);
    }
    once.update(1000 * 123_457, [UNIT]);
    assert!(
        often.averages[0].abs_diff(once.averages[0]) <= 2,
        "{} and {}",
        often.averages[0],
        once.averages[0]
    );
}

#[test]
fn an_average_changes_only_at_the_end_of_a_period() {
    let mut load = Averages::<1>::default();
    load.update(PERIOD - 1, [UNIT]);
    assert_eq!(load.averages[0], 0);
    load.update(PERIOD, [UNIT]);
    assert!(load.averages[0] > 20, "{}", load.averages[0]);
}

#[test]
fn a_new_task_brings_its_whole_weight() {
    let (mut cpu, mut task) = (CpuLoad::default(), TaskLoad::new(5, TaskUtil::Carried(0)));
    cpu.enqueue(&mut task, 3 * UNIT, 5);
    assert_eq!((cpu.load(), cpu.weight), (3 * UNIT, 3 * UNIT));
}

#[test]
fn a_sleeping_task_stays_in_the_average_and_halves() {
    let (mut cpu, mut task) = (CpuLoad::default(), TaskLoad::new(0, TaskUtil::Carried(0)));
    cpu.enqueue(&mut task, UNIT, 0);
    cpu.dequeue(&mut task, UNIT, PERIOD);
    assert_eq!(cpu.weight, 0);
    cpu.update(33 * PERIOD);
    assert!(cpu.load().abs_diff(UNIT / 2) <= 2, "{}", cpu.load());
}

#[test]
fn a_task_takes_its_load_to_another_cpu() {
    let (mut from, mut to) = (CpuLoad::default(), CpuLoad::default());
    let (mut task, mut other) =
        (TaskLoad::new(0, TaskUtil::Carried(0)), TaskLoad::new(0, TaskUtil::Carried(0)));
    from.enqueue(&mut other, UNIT, 0);
    from.enqueue(&mut task, 335, 0);
    from.dequeue(&mut task, 335, 8 * PERIOD);
    from.detach(&mut task, 335, 20 * PERIOD);
    assert!(from.load().abs_diff(UNIT) <= 1, "the other task's load stays: {}", from.load());
    to.enqueue(&mut task, 335, 30 * PERIOD);
    // It slept from the 8th to the 30th period.
    let left = 335.0 * 0.5f64.powf(22.0 / 32.0);
    assert!((to.load() as f64 - left).abs() < 2.0, "{} of {left}", to.load());
}

#[test]
fn utilisation_is_the_part_of_the_time_with_a_task() {
    let (mut cpu, mut task) = (CpuLoad::default(), TaskLoad::new(0, TaskUtil::Carried(0)));
    for period in 0..400 {
        cpu.enqueue(&mut task, 15, period * PERIOD);
        cpu.dequeue(&mut task, 15, period * PERIOD + PERIOD / 4);
    }
    assert!(cpu.util().abs_diff(UNIT / 4) <= 8, "{}", cpu.util());
    assert!(cpu.load().abs_diff(15 / 4) <= 1, "{}", cpu.load());
}

#[test]
fn a_task_takes_its_utilisation_to_another_cpu() {
    let (mut from, mut to) = (CpuLoad::default(), CpuLoad::default());
    let [mut task, mut other] = [TaskLoad::new(0, TaskUtil::Carried(0)); 2];
    from.enqueue(&mut task, UNIT, 0);
    from.enqueue(&mut other, UNIT, 0);
    from.dequeue(&mut task, UNIT, 640 * PERIOD);
    assert!(from.util() > UNIT - 4);
    from.detach(&mut task, UNIT, 640 * PERIOD);
    to.enqueue(&mut task, UNIT, 640 * PERIOD);
    // Two tasks that are always in the queue share the CPU's time.
    assert!(from.util().abs_diff(UNIT / 2) <= 4, "{}", from.util());
    assert!(to.util().abs_diff(UNIT / 2) <= 4, "{}", to.util());
    // Both tasks have a CPU to themselves now. What they brought along counts no more.
    from.update(672 * PERIOD);
    assert!(from.util().abs_diff(3 * UNIT / 4) <= 4, "{}", from.util());
    to.dequeue(&mut task, UNIT, 960 * PERIOD);
    assert!(to.task_util(&task) > UNIT - 4, "{}", to.task_util(&task));
    to.detach(&mut task, UNIT, 960 * PERIOD);
    assert_eq!(to.util(), 0);
}

#[test]
fn a_new_task_gets_half_of_what_its_cpu_has_left() {
    let util_after = |old_util| {
        let mut cpu = CpuLoad::default();
        cpu.enqueue(&mut TaskLoad::new(0, TaskUtil::Carried(old_util)), UNIT, 0);
        cpu.enqueue(&mut TaskLoad::new(0, TaskUtil::New), UNIT, 0);
        cpu.util()
    };
    assert_eq!(CpuLoad::default().util(), 0);
    assert_eq!([0, 512, 1024].map(util_after), [512, 768, 1024]);
    // The CPU's utilisation for its load is less than half of what is left.
    assert!(util_after(100).abs_diff(200) <= 1, "{}", util_after(100));
}
