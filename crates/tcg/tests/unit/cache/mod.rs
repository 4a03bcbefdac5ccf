//! Unit tests of `cache/mod.rs`.

use super::*;

const KIB: u64 = 1024;

/// A guest with these sockets and cores on the two-socket Xeon; 512 MiB for each socket's node.
fn xeon(sockets: usize, cores: usize, threads: usize) -> Hierarchy {
    let guest = Guest { sockets, cores, threads, nodes: sockets, node_bytes: 512 << 20, doubled: false };
    Hierarchy::new(&schedlab_sim::machine::machine("xeon-e5-2670v3").unwrap(), guest).unwrap()
}

/// Number of accesses by source.
fn counts(sources: impl IntoIterator<Item = Source>) -> Vec<(Source, usize)> {
    let mut counts: Vec<(Source, usize)> = Vec::new();
    for source in sources {
        match counts.iter_mut().find(|(known, _)| *known == source) {
            Some((_, count)) => *count += 1,
            None => counts.push((source, 1)),
        }
    }
    counts
}

#[test]
fn the_first_access_comes_from_memory_and_the_next_from_the_private_cache() {
    let mut caches = xeon(2, 1, 1);
    assert_eq!(caches.access(0, 0, false), Source::Memory(Distance::Node));
    assert_eq!(caches.access(0, 63, true), Source::Private);
    assert_eq!(caches.access(0, 64, false), Source::Memory(Distance::Node));
    assert_eq!(caches.access(0, 600 << 20, false), Source::Memory(Distance::Far));
}

#[test]
fn ping_pong_moves_the_line_once_for_each_access() {
    for (sockets, cores, distance) in [(2, 1, Distance::Far), (1, 2, Distance::Llc)] {
        let mut caches = xeon(sockets, cores, 1);
        caches.access(0, 0, true);
        let sources = (0..1000).map(|turn| caches.access((turn + 1) % 2, 0, true));
        assert_eq!(counts(sources), [(Source::Cache(distance), 1000)]);
    }
}

#[test]
fn false_sharing_costs_a_transfer_for_each_store_and_padding_removes_them() {
    let run = |padding: u64| {
        let mut caches = xeon(2, 1, 1);
        caches.access(0, 0, true);
        caches.access(1, padding, true);
        counts((0..1000).map(|turn| caches.access(turn % 2, (turn % 2) as u64 * padding, true)))
    };
    assert_eq!(run(8), [(Source::Cache(Distance::Far), 1000)]);
    assert_eq!(run(64), [(Source::Private, 1000)]);
}

#[test]
fn a_line_that_all_cpus_only_read_stays_in_their_caches() {
    let mut caches = xeon(2, 2, 1);
    for cpu in 0..4 {
        caches.access(cpu, 0, false);
    }
    assert_eq!(counts((0..400).map(|turn| caches.access(turn % 4, 0, false))), [(Source::Private, 400)]);
}

#[test]
fn a_store_to_a_read_line_waits_for_its_farthest_reader() {
    let mut caches = xeon(2, 2, 1);
    for cpu in 0..4 {
        caches.access(cpu, 0, false);
    }
    assert_eq!(caches.access(0, 0, true), Source::Cache(Distance::Far));
    assert_eq!(caches.access(1, 0, false), Source::Cache(Distance::Llc));
    assert_eq!(caches.access(0, 0, false), Source::Private, "the writer keeps a copy");
    assert_eq!(caches.access(0, 0, true), Source::Cache(Distance::Llc));
}

#[test]
fn a_producer_and_a_consumer_exchange_two_transfers_for_each_message() {
    let mut caches = xeon(2, 1, 1);
    for _ in 0..2 {
        caches.access(0, 0, true);
        caches.access(1, 0, false);
    }
    let sources = (0..500).flat_map(|_| [caches.access(0, 0, true), caches.access(1, 0, false)]);
    assert_eq!(counts(sources.collect::<Vec<_>>()), [(Source::Cache(Distance::Far), 1000)]);
}

#[test]
fn threads_of_a_core_share_its_cache() {
    let mut caches = xeon(1, 1, 2);
    caches.access(0, 0, true);
    assert_eq!(counts((0..100).map(|turn| caches.access(turn % 2, 0, true))), [(Source::Private, 100)]);
}

#[test]
fn a_working_set_beyond_the_private_cache_comes_from_the_last_level_cache() {
    let machine = schedlab_sim::machine::machine("xeon-e5-2670v3").unwrap();
    let guest = Guest { sockets: 1, cores: 1, threads: 1, nodes: 1, node_bytes: 512 << 20, doubled: false };
    let mut caches =
        Hierarchy::new(&schedlab_sim::machine::Machine { llc_kib: 2048, ..machine }, guest).unwrap();
    let mut walk = |kib: u64| counts((0..kib * KIB / LINE).map(|line| caches.access(0, line * LINE, false)));
    walk(128);
    assert_eq!(walk(128), [(Source::Private, 2048)]);
    walk(1024);
    assert_eq!(walk(1024), [(Source::Llc, 16384)], "least recently used: a cyclic walk never hits");
    walk(4096);
    assert_eq!(walk(4096), [(Source::Memory(Distance::Node), 65536)]);
}

#[test]
fn an_evicted_modified_line_is_in_the_last_level_cache_of_its_writer() {
    let mut caches = xeon(2, 2, 1);
    caches.access(0, 0, true);
    for line in 1..=8 * KIB {
        caches.access(0, line * LINE, false);
    }
    assert_eq!(caches.access(1, 0, false), Source::Llc);
    assert_eq!(caches.access(2, 0, false), Source::Cache(Distance::Far));
    assert_eq!(caches.access(3, 0, false), Source::Llc);
}

#[test]
fn names_follow_the_indices() {
    for distance in Distance::ALL {
        assert_eq!(Source::NAMES[Source::Cache(distance).index()], format!("cache-{}", distance.name()));
        assert_eq!(Source::NAMES[Source::Memory(distance).index()], format!("memory-{}", distance.name()));
    }
    assert_eq!(Source::NAMES[Source::Llc.index()], "llc");
}

/// Numbers that look random, from a linear congruential generator (Knuth, TAOCP 2, section 3.3.4, MMIX).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn caches_and_holders_agree_after_any_accesses() {
    let mut machine = schedlab_sim::machine::machine("xeon-e5-2670v3").unwrap();
    (machine.private_kib, machine.llc_kib) = (2, 8);
    let guest = Guest { sockets: 2, cores: 3, threads: 1, nodes: 2, node_bytes: 512 << 20, doubled: false };
    let mut caches = Hierarchy::new(&machine, guest).unwrap();
    let mut state = 1;
    for _ in 0..10_000 {
        let (cpu, line, store) =
            (random(&mut state) % 6, random(&mut state) % 200, random(&mut state).is_multiple_of(3));
        caches.access(cpu as usize, line * LINE, store);
        if random(&mut state).is_multiple_of(100) {
            check(&mut caches);
        }
    }
}

/// Compares the contents of all caches with the holders, and the holders with the rules of the protocol.
fn check(caches: &mut Hierarchy) {
    for line in 0..200 {
        let holders = caches.lines.get(&line).copied().unwrap_or_default();
        for core in 0..6 {
            let way = caches.cores[core].find(line).copied();
            assert_eq!(way.is_some(), holders.cores & (1 << core) != 0);
            let modified = way.is_some_and(|way| way.modified);
            assert_eq!(modified, holders.writer == Some(core as u8));
            assert!(way.is_none() || holders.caches & (1 << caches.cache_of[core]) != 0, "inclusive");
        }
        for cache in 0..2 {
            assert_eq!(caches.caches[cache].find(line).is_some(), holders.caches & (1 << cache) != 0);
        }
        if holders.writer.is_some() {
            assert_eq!((holders.cores.count_ones(), holders.caches.count_ones()), (1, 1));
        }
        assert!(holders.dirty.is_none() || holders.writer.is_none());
        assert!(holders.dirty.is_none_or(|dirty| holders.caches == 1 << dirty));
    }
}
