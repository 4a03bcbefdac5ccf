use super::Table;

#[test]
#[cfg(any(debug_assertions, feature = "check"))]
#[should_panic(expected = "5 of 5")]
fn builds_with_checks_refuse_an_index_beyond_the_end() {
    // SAFETY: this test is part of builds that check the index before its use.
    let table = unsafe { Table::trusted(vec![0; 5]) };
    let _ = table[5];
}

#[test]
#[should_panic(expected = "out of range")]
fn every_build_checks_a_range() {
    // SAFETY: ranges are checked in every build, and no single index is used.
    let table = unsafe { Table::trusted(vec![0; 5]) };
    let _ = table.part(3..6);
}
