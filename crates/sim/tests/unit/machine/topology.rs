use super::{Distance, Topology};
use crate::machine::machine;

#[test]
fn split_numbering_puts_siblings_half_of_the_cpus_apart() {
    let topology = Topology::new(&machine("xeon-e5-2670v3").unwrap());
    assert_eq!(topology.cpus(), 48);
    assert_eq!(topology.core_cpus(0).iter().collect::<Vec<_>>(), [0, 24]);
    assert_eq!(topology.distance(0, 24), Distance::Core);
    assert_eq!(topology.distance(0, 11), Distance::Llc);
    assert_eq!(topology.distance(0, 12), Distance::Far);
    assert_eq!(topology.node_cpus(1).iter().collect::<Vec<_>>(), (12..24).chain(36..48).collect::<Vec<_>>());
}

#[test]
fn nodes_of_one_socket_are_nearer_than_nodes_of_two_sockets() {
    let topology = Topology::new(&machine("kunpeng920").unwrap());
    let distances = [4, 31, 32, 64].map(|cpu| topology.distance(0, cpu));
    assert_eq!(distances, [Distance::Llc, Distance::Llc, Distance::Near, Distance::Far]);
    assert_eq!(topology.memory_distance(0, 0), Distance::Node);
    assert_eq!(topology.memory_distance(0, 1), Distance::Near);
    assert_eq!(topology.memory_distance(127, 0), Distance::Far);
}

#[test]
fn cores_of_a_cluster_are_nearer_than_other_cores_of_the_cache() {
    let topology = Topology::new(&machine("kunpeng920").unwrap());
    let distances = [0, 1, 3, 4].map(|cpu| topology.distance(0, cpu));
    assert_eq!(distances, [Distance::Core, Distance::Cluster, Distance::Cluster, Distance::Llc]);
    assert_eq!(topology.clusters.len(), 32);
    assert_eq!(topology.clusters[31].iter().collect::<Vec<_>>(), [124, 125, 126, 127]);
}

#[test]
fn a_cluster_has_all_siblings_of_its_cores() {
    let mut xeon = machine("xeon-e5-2670v3").unwrap();
    xeon.cores_per_cluster = Some(3);
    xeon.check().unwrap();
    let topology = Topology::new(&xeon);
    assert_eq!(topology.clusters[4].iter().collect::<Vec<_>>(), [12, 13, 14, 36, 37, 38]);
    assert_eq!([14, 36, 38, 15, 39].map(|cpu| topology.cluster(cpu)), [4, 4, 4, 5, 5]);
    assert_eq!(topology.distance(12, 36), Distance::Core);
    assert_eq!(topology.distance(12, 38), Distance::Cluster);
    assert_eq!(topology.distance(12, 39), Distance::Llc);
}

#[test]
fn without_the_key_no_two_cores_form_a_cluster() {
    let topology = Topology::new(&machine("xeon-e5-2670v3").unwrap());
    assert!(topology.clusters.is_empty());
    let nearest = (0..48).flat_map(|a| (0..48).map(move |b| (a, b)));
    assert!(nearest.into_iter().all(|(a, b)| topology.distance(a, b) != Distance::Cluster));
}
