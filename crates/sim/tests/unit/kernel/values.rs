use super::{Tunable, Tunables};
use crate::kernel::kernel;

#[test]
fn defaults_scale_with_the_logarithm_of_at_most_eight_cpus() {
    // 6 ms × (1 + log₂ 4) = 18 ms; above 8 CPUs, × 4 = 24 ms.
    for (cpus, latency) in
        [(1, 6_000_000), (2, 12_000_000), (4, 18_000_000), (8, 24_000_000), (128, 24_000_000)]
    {
        let tunables = Tunables::new(&kernel("linux-5.14").unwrap(), cpus);
        assert_eq!(tunables.get(Tunable::LatencyNs), latency);
        assert_eq!(tunables.get(Tunable::MigrationCostNs), 500_000);
    }
}

#[test]
fn a_tunable_that_the_kernel_lacks_is_refused_with_the_kernels_that_have_it() {
    let mut tunables = Tunables::new(&kernel("linux-6.12").unwrap(), 4);
    let error = tunables.set("kernel.sched_latency_ns", 1_000_000).unwrap_err().to_string();
    assert_eq!(
        error,
        "linux-6.12 has no tunable `kernel.sched_latency_ns`; kernels with this tunable: \
         linux-3.8, linux-4.5, linux-5.10, linux-5.14, linux-6.1"
    );
    let error = tunables.set("sched.migration_cost_ns", -2).unwrap_err().to_string();
    assert!(error.contains("-2 is out of range on linux-6.12: from -1 to"), "{error}");
    let error = tunables.set("sched.nonsense", 1).unwrap_err().to_string();
    assert_eq!(error, "linux-6.12 has no tunable `sched.nonsense`, nor has any other kernel model");
    tunables.set("kernel.sched_migration_cost_ns", -1).unwrap();
    assert_eq!(tunables.get(Tunable::MigrationCostNs), -1);
}

#[test]
fn an_unknown_tunable_is_refused_with_the_three_nearest_names() {
    let mut tunables = Tunables::new(&kernel("linux-6.12").unwrap(), 4);
    let error = tunables.set("sched.numa_balancing.scan_peroid_ms", 1).unwrap_err().to_string();
    let (_, nearest) = error.split_once("nor has any other kernel model; nearest: ").unwrap();
    let names: Vec<_> = nearest.split(", ").collect();
    assert_eq!(names.len(), 3, "{error}");
    assert!(names.iter().all(|name| name.starts_with("sched.numa_balancing.scan_")), "{error}");
}

#[test]
fn a_migration_cost_of_minus_one_is_the_greatest_unsigned_int() {
    let mut tunables = Tunables::new(&kernel("linux-6.12").unwrap(), 4);
    assert_eq!((tunables.migration_cost(), tunables.migration_cost_at_boot()), (500_000, 500_000));
    for value in [-1, u32::MAX.into()] {
        tunables.set("sched.migration_cost_ns", value).unwrap();
        assert_eq!(tunables.migration_cost(), u32::MAX);
    }
    tunables.set("sched.migration_cost_ns", 0).unwrap();
    assert_eq!((tunables.migration_cost(), tunables.migration_cost_at_boot()), (0, 500_000));
    let before_it_existed = Tunables::new(&kernel("linux-2.5.59").unwrap(), 4);
    assert_eq!((before_it_existed.migration_cost(), before_it_existed.migration_cost_at_boot()), (0, 0));
}
