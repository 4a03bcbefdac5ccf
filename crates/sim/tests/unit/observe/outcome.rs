use super::Digest;

#[test]
fn the_digest_is_fnv_1a() {
    // FNV-1a of no byte is the offset basis; of the eight bytes "foobar\0\0", continued from the published
    // 0x85944171f73967e8 of "foobar" by two zero bytes, where each byte only multiplies by the prime.
    assert_eq!(Digest::default().value(), 0xcbf2_9ce4_8422_2325);
    let mut digest = Digest::default();
    digest.word(u64::from_le_bytes(*b"foobar\0\0"));
    let prime: u64 = 0x0100_0000_01b3;
    assert_eq!(digest.value(), 0x8594_4171_f739_67e8u64.wrapping_mul(prime).wrapping_mul(prime));
}
