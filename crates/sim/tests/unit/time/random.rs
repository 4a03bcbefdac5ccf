use super::Random;

#[test]
fn neighbouring_seeds_draw_differently() {
    let draws = |seed| {
        let mut random = Random::new(seed);
        [(); 4].map(|()| random.below(1 << 32))
    };
    assert!((0..100).all(|seed| draws(seed) != draws(seed + 1)));
    assert_ne!(draws(0), draws(1 << 63));
}
