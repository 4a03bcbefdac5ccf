use proptest::prelude::*;

use super::{Counts, Folded, ITEMS, Item, threshold};

#[test]
fn thresholds_equal_the_kernels_table() {
    // mm/vmstat.c: 8 for one CPU and 0.9 to 1 GB, 16 for two, 20 for 1 to 2 GB, 24 for 2 to 4, 48 for four CPUs and 8
    // to 16 GB, 125 for 1024 CPUs with the same memory.
    for (cpus, mib, expected) in
        [(1, 1000, 8), (2, 1000, 16), (2, 1500, 20), (2, 3000, 24), (4, 12_000, 48), (1024, 12_000, 125)]
    {
        assert_eq!(threshold(cpus, mib), expected, "{cpus} CPUs, {mib} MiB");
    }
}

#[test]
fn a_differential_over_the_threshold_is_folded_at_once() {
    // Two CPUs, 1000 MiB: 16. Sixteen steps remain, the seventeenth step folds all steps.
    let mut counts = Counts::new(2, 1, 1000, true);
    assert_eq!(counts.change(0, 0, Item::AnonPages, 1, 16), 0);
    assert_eq!((counts.global(Item::AnonPages), counts.pending(0).items), (0, 1));
    assert_eq!(counts.change(0, 0, Item::AnonPages, 1, 1), 1);
    assert_eq!((counts.global(Item::AnonPages), counts.pending(0).items), (17, 0));
    // 40 steps down: two folds of 17 steps, and 6 steps that remain.
    assert_eq!(counts.change(1, 0, Item::AnonPages, -1, 40), 2);
    assert_eq!(counts.global(Item::AnonPages), 17 - 34);
    assert_eq!(counts.differentials(Item::AnonPages).collect::<Vec<_>>(), [0, -6]);
    counts.verify();
}

#[test]
fn a_fold_counts_written_lines_and_lines_with_another_last_writer() {
    let mut counts = Counts::new(2, 2, 1000, true);
    counts.change(0, 0, Item::AnonPages, 1, 3);
    counts.change(0, 0, Item::FreePages, -1, 3);
    counts.change(0, 1, Item::AnonPages, 1, 2);
    // Lines of two zones and the global line, all without a last writer.
    assert_eq!(counts.refresh_cpu_vm_stats(0), Folded { items: 3, lines: 3, foreign: 3 });
    assert_eq!(counts.refresh_cpu_vm_stats(0), Folded::default());
    counts.change(0, 0, Item::AnonPages, 1, 1);
    assert_eq!(counts.refresh_cpu_vm_stats(0), Folded { items: 1, lines: 2, foreign: 0 });
    counts.change(1, 0, Item::AnonPages, 1, 1);
    assert_eq!(counts.refresh_cpu_vm_stats(1), Folded { items: 1, lines: 2, foreign: 2 });
    assert_eq!(counts.global(Item::AnonPages), 7);
    counts.verify();
}

#[test]
fn a_kernel_that_does_not_fold_counts_globally() {
    let mut counts = Counts::new(2, 1, 1000, false);
    counts.change(0, 0, Item::KernelStack, 16, 1);
    counts.change(1, 0, Item::FreePages, -1, 9);
    assert_eq!((counts.global(Item::KernelStack), counts.global(Item::FreePages)), (16, 256_000 - 9));
    assert!(counts.changed().is_empty());
    counts.verify();
}

proptest! {
    #[test]
    fn the_global_count_and_the_differentials_always_sum_to_the_true_count(
        cpus in 1usize..9, nodes in 1usize..4, mib in 1u64..100_000,
        acts in prop::collection::vec((0usize..8, 0usize..3, 0usize..ITEMS, -20i64..21, 0u64..400), 1..80),
    ) {
        let mut counts = Counts::new(cpus, nodes, mib, true);
        let mut stepwise = counts.clone();
        let mut truth = Item::ALL.map(|item| counts.global(item));
        for (cpu, node, item, step, steps) in acts {
            let (cpu, node) = (cpu % cpus, node % nodes);
            if step == 0 {
                counts.refresh_cpu_vm_stats(cpu);
                stepwise.refresh_cpu_vm_stats(cpu);
            } else {
                let item = Item::ALL[item];
                let over = counts.change(cpu, node, item, step, steps);
                let one_by_one: u64 = (0..steps).map(|_| stepwise.change(cpu, node, item, step, 1)).sum();
                prop_assert_eq!(over, one_by_one);
                truth[item as usize] += step * steps as i64;
            }
            counts.verify();
            for item in Item::ALL {
                let total = counts.global(item) + counts.differentials(item).sum::<i64>();
                prop_assert_eq!(total, truth[item as usize]);
                prop_assert_eq!(counts.global(item), stepwise.global(item));
            }
        }
    }
}
