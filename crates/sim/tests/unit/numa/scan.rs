use super::ScanTunables;
use crate::time::{MS, SECOND};

#[test]
fn periods_divide_by_the_windows_of_the_space_and_keep_to_2560_mib_a_second() {
    let scan = ScanTunables { delay: 0, period_min: SECOND, period_max: 60 * SECOND, size_mb: 256 };
    let mib = 256;
    let periods = |scan: ScanTunables, pages| (scan.task_scan_min(pages), scan.task_scan_max(pages));
    // One scan covers up to 256 MiB.
    assert_eq!(periods(scan, 0), (SECOND, 60 * SECOND));
    assert_eq!(periods(scan, 256 * mib), (SECOND, 60 * SECOND));
    // 257 MiB take two scans, 1000 MiB four.
    assert_eq!(periods(scan, 257 * mib), (500 * MS, 30 * SECOND));
    assert_eq!(periods(scan, 1000 * mib), (250 * MS, 15 * SECOND));
    // 16 GiB would take 64 scans per second; the limit is 2560 / 256 = 10.
    assert_eq!(scan.task_scan_min(16384 * mib), 100 * MS);
    // The longest period is never below the shortest.
    let upside_down = ScanTunables { period_max: MS, ..scan };
    assert_eq!(periods(upside_down, 0), (SECOND, SECOND));
    // Scans of more than 2560 MiB: one per second.
    assert_eq!(ScanTunables { size_mb: 5000, period_min: MS, ..scan }.task_scan_min(0), SECOND);
}
