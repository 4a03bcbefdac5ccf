use super::bitmap;
use crate::machine::CpuMask;

#[test]
fn bitmaps_are_as_wide_as_the_machine_with_a_comma_every_32_cpus() {
    // 48 CPUs have 16 bits in the upper word, written as four digits. 34 CPUs have two bits, written as one digit.
    let span: CpuMask = (0..4).collect();
    assert_eq!(bitmap(&span, 48), "0000,0000000f");
    assert_eq!(bitmap(&span, 4), "f");
    assert_eq!(bitmap(&[33, 5].into_iter().collect(), 34), "2,00000020");
    assert_eq!(bitmap(&CpuMask::EMPTY, 64), "00000000,00000000");
}
