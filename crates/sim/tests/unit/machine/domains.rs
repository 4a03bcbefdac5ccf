use super::{DomainKind, Domains};
use crate::machine::{Topology, machine};

fn levels(name: &str) -> Vec<(DomainKind, u32, usize)> {
    let machine = machine(name).unwrap();
    let domains = Domains::new(&machine, &Topology::new(&machine));
    let of_first = domains.of_cpu[0].iter().map(|at| &domains.all[usize::from(*at)]);
    of_first.map(|domain| (domain.kind, domain.weight, domain.groups.len())).collect()
}

#[test]
fn the_levels_of_each_shipped_machine_follow_from_its_topology() {
    use DomainKind::{Cache, Node, Numa, Smt};
    assert_eq!(levels("laptop-4"), [(Cache, 4, 4)]);
    assert_eq!(levels("i7-3770"), [(Smt, 2, 2), (Cache, 8, 4)]);
    assert_eq!(levels("xeon-e5-2670v3"), [(Smt, 2, 2), (Cache, 24, 12), (Numa(21), 48, 2)]);
    // The CPUs of a quad have private caches, so their lowest domain is the node.
    assert_eq!(levels("numa-q-16"), [(Node, 4, 4), (Numa(20), 16, 4)]);
    let kunpeng = levels("kunpeng920");
    assert_eq!(kunpeng.first(), Some(&(Cache, 32, 32)));
    assert_eq!(kunpeng.last().map(|level| level.1), Some(128));
}
