use super::{Placement, Quality};

fn placement(running: u32, prefer: u32, settled: u32) -> Placement {
    Placement { running, prefer, settled }
}

#[test]
fn the_worst_placed_task_decides() {
    assert_eq!(placement(3, 2, 2).quality(), Quality::Regular);
    assert_eq!(placement(3, 3, 2).quality(), Quality::Remote);
    assert_eq!(placement(3, 3, 3).quality(), Quality::Settled);
    let mut group = placement(2, 2, 2);
    group.add(&placement(1, 1, 0));
    assert_eq!(group.quality(), Quality::Remote);
}
