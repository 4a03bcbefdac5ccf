//! Unit tests of `counts.rs`.

use super::*;

fn functions() -> Functions {
    Functions::new("ffffffff81000000\nffffffff81000040\n").unwrap()
}

#[test]
fn an_address_belongs_to_the_function_that_begins_last_before_it() {
    let addresses = [0x40_1000, 0xffff_ffff_8100_0000, 0xffff_ffff_8100_003f, 0xffff_ffff_8100_0040];
    assert_eq!(addresses.map(|address| functions().number(address)), [0, 1, 1, 2]);
    assert_eq!(functions().number(0xffff_ffff_8fff_ffff), 2);
}

#[test]
fn kernel_code_outside_of_the_symbols_has_its_own_counter() {
    assert_eq!(functions().number(0xffff_fe00_0000_0000), 3);
    assert_eq!(functions().number(0xffff_ffff_c000_1234), 3);
    assert_eq!(functions().len(), 4);
}

#[test]
fn a_function_begins_at_its_first_instruction_only() {
    let addresses = [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0001, 0xffff_ffff_8100_0040, 0x40_1000];
    assert_eq!(addresses.map(|address| functions().begins(address)), [true, false, true, false]);
}

#[test]
fn taking_begins_at_0_again() {
    let counters = Counters::new(3);
    counters.0[0].fetch_add(2, Ordering::Relaxed);
    counters.0[2].fetch_add(5, Ordering::Relaxed);
    let mut counts = Counts::default();
    counters.take("", &mut counts);
    counters.take("", &mut counts);
    counters.0[2].fetch_add(1, Ordering::Relaxed);
    counters.take(CALLS, &mut counts);
    assert_eq!(counts.text(), "0:2 2:5 2.calls:1");
}

#[test]
fn cache_lines_follow_the_instructions_of_their_function() {
    let mut counts = Counts::default();
    counts.add(7, "llc", 2);
    counts.add(7, "", 340);
    counts.add(12, "", 1);
    counts.add(7, "private", 0);
    let mut sum = counts.clone();
    sum.add_all(&counts);
    assert_eq!(counts.text(), "7:340 7.llc:2 12:1");
    assert_eq!(sum.text(), "7:680 7.llc:4 12:2");
}

#[test]
fn addresses_that_descend_and_other_texts_are_refused() {
    assert!(Functions::new("20\n10\n").is_err());
    assert!(Functions::new("main\n").is_err());
}
