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
#[path = "../tests/unit/instruction.rs"]
mod tests;
