use super::*;

#[test]
fn six_address_spaces_stay_and_a_seventh_replaces_them_in_turn() {
    let mut tlbs = Tlbs::new(2);
    let spaces: Vec<u32> = (0..7).map(|_| tlbs.new_space()).collect();
    assert!(spaces[..6].iter().all(|space| tlbs.load(0, *space)));
    assert!(!spaces[..6].iter().any(|space| tlbs.load(0, *space)));
    assert!(tlbs.load(1, spaces[0]), "every CPU has its own TLB");
    for _ in 0..2 {
        assert!(spaces.iter().skip(6).chain(&spaces[..6]).all(|space| tlbs.load(0, *space)));
    }
}
