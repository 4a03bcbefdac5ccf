use super::{DomainKind, Domains};
use crate::machine::{Machine, Topology, machine};

fn levels(name: &str) -> Vec<(DomainKind, usize, usize)> {
    levels_of(&machine(name).unwrap(), true)
}

/// Kind, number of CPUs and number of groups of the first CPU's domains.
fn levels_of(machine: &Machine, clusters: bool) -> Vec<(DomainKind, usize, usize)> {
    let domains = Domains::new(machine, &Topology::new(machine), clusters);
    let of_first = domains.of_cpu[0].iter().map(|at| &domains.all[usize::from(*at)]);
    of_first.map(|domain| (domain.kind, domain.span.count(), domain.groups.len())).collect()
}

#[test]
fn the_levels_of_each_shipped_machine_follow_from_its_topology() {
    use DomainKind::{Cache, Cluster, Node, Numa, Smt};
    assert_eq!(levels("laptop-4"), [(Cache, 4, 4)]);
    assert_eq!(levels("i7-3770"), [(Smt, 2, 2), (Cache, 8, 4)]);
    assert_eq!(levels("xeon-e5-2670v3"), [(Smt, 2, 2), (Cache, 24, 12), (Numa(21), 48, 2)]);
    // The CPUs of a quad have private caches, so their lowest domain is the node.
    assert_eq!(levels("numa-q-16"), [(Node, 4, 4), (Numa(20), 16, 4)]);
    let kunpeng = levels("kunpeng920");
    assert_eq!(kunpeng[..2], [(Cluster, 4, 4), (Cache, 32, 8)]);
    assert_eq!(kunpeng.last().map(|level| level.1), Some(128));
}

#[test]
fn a_kernel_without_a_level_of_clusters_has_single_cores_as_groups_of_the_cache() {
    use DomainKind::{Cache, Cluster, Numa, Smt};
    let kunpeng = levels_of(&machine("kunpeng920").unwrap(), false);
    assert_eq!(kunpeng.first(), Some(&(Cache, 32, 32)));
    let mut xeon = machine("xeon-e5-2670v3").unwrap();
    xeon.cores_per_cluster = Some(3);
    let levels = [(Smt, 2, 2), (Cluster, 6, 3), (Cache, 24, 4), (Numa(21), 48, 2)];
    assert_eq!(levels_of(&xeon, true), levels);
}
