//! Unit tests of `instruction.rs`.

use super::*;

#[test]
fn locked_instructions_and_exchanges_are_atomic() {
    assert!(is_atomic(&[0xf0, 0x48, 0x0f, 0xc1, 0x07])); // lock xadd %rax,(%rdi)
    assert!(is_atomic(&[0x65, 0xf0, 0xff, 0x07])); // lock incl %gs:(%rdi)
    assert!(is_atomic(&[0x48, 0x87, 0x07])); // xchg %rax,(%rdi)
    assert!(is_atomic(&[0x66, 0x87, 0x07])); // xchg %ax,(%rdi)
    assert!(!is_atomic(&[0x48, 0x01, 0x07])); // add %rax,(%rdi)
    assert!(!is_atomic(&[0x65, 0xff, 0x07])); // incl %gs:(%rdi)
    assert!(!is_atomic(&[0x8b, 0x07])); // mov (%rdi),%eax
    assert!(!is_atomic(&[]));
}
