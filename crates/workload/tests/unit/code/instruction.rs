//! Unit tests of `code/instruction.rs`.

use super::Instruction;

#[test]
fn an_instruction_fits_into_a_cache_line() {
    assert!(size_of::<Instruction>() <= 48, "{} bytes", size_of::<Instruction>());
}
