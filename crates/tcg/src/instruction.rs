//! The bytes of x86-64 instructions (Intel SDM, volume 2, chapter 2).

/// Whether an instruction reads and writes memory in one step: the prefix `lock`, or `xchg`, which locks without the
/// prefix.
pub(crate) fn is_atomic(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        match first {
            0xf0 => return true,
            // Sizes of operands and addresses, repetition, segments.
            0x66 | 0x67 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 => rest = after,
            // REX, the last prefix.
            0x40..=0x4f => return matches!(after, [0x86 | 0x87, ..]),
            _ => return matches!(first, 0x86 | 0x87),
        }
    }
    false
}

#[cfg(test)]
mod tests {
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
}
