//! Instructions that mark the operations of a program for a QEMU plug-in (crates/tcg).
//!
//! A mark is a seven-byte `nop` of x86-64 (`nopl disp32(%rax)`, Intel SDM, volume 2, "NOP") with a displacement that
//! compilers do not use. CPUs ignore the displacement, and the plug-in recognises its bytes.

/// First bytes of a mark: opcode and ModRM.
pub const NOP: [u8; 3] = [0x0f, 0x1f, 0x80];

/// Displacement of the mark before an operation.
pub const BEGIN: u32 = 0x534c_0001;

/// Displacement of the mark after an operation, which is also a mark before the next operation.
pub const NEXT: u32 = 0x534c_0002;

/// Displacement of the mark before the tasks of a program begin.
pub const FROM: u32 = 0x534c_0003;

/// Displacement of the mark after the last task has ended.
pub const TO: u32 = 0x534c_0004;

/// Bytes of the mark with this displacement.
pub const fn bytes(displacement: u32) -> [u8; 7] {
    let [a, b, c, d] = displacement.to_le_bytes();
    [NOP[0], NOP[1], NOP[2], a, b, c, d]
}
