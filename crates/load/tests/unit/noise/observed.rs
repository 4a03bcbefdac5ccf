//! Unit tests of `noise/observed.rs`.

use super::Counters;

#[test]
fn counters_of_other_cpus_and_without_increase_are_left_out() {
    let table = |local: u64| {
        format!(
            "           CPU0       CPU2\n 36:  7  {local}  IO-APIC 5-edge virtio1\nLOC: 10 {local} Local timer interrupts\nERR: 0\n"
        )
    };
    let read = |local| {
        let mut counters = Counters::default();
        counters.add_table(&[2], &table(local), "interrupt");
        counters
    };
    assert!(read(5).since(&read(5)).is_empty());
    let grown = read(9).since(&read(5));
    let names: Vec<&str> = grown.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["interrupt 36 IO-APIC 5-edge virtio1", "interrupt LOC Local timer interrupts"]);
    assert!(grown.iter().all(|each| each.cpu == Some(2) && each.count == 4));
}
