use super::SharedLine;

#[test]
fn each_contender_waits_for_the_transfers_before_it() {
    let mut line = SharedLine::default();
    let waits: Vec<u64> = (1..5).map(|cpu| line.transfer(cpu, 100, 1000)).collect();
    assert_eq!(waits, [100, 200, 300, 400]);
    assert_eq!(line.transfer(5, 100, 1350), 150, "the queue is shorter by the time that has passed");
    assert_eq!(line.transfer(6, 100, 9000), 100, "nobody waits");
}
