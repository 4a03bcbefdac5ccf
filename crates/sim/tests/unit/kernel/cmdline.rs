use super::CommandLine;

#[test]
fn valid_cpu_lists_are_parsed_and_invalid_ones_refused() {
    let line = CommandLine::parse("isolcpus=2-3 nohz_full=3", 4).unwrap();
    assert_eq!(line.isolated.iter().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(line.nohz_full.iter().collect::<Vec<_>>(), [3]);
    assert_eq!(line.schedstats, None);
    assert_eq!(
        CommandLine::parse("schedstats=enable schedstats=disable", 4).unwrap().schedstats,
        Some(false)
    );
    let flags = |text: &str| {
        let line = CommandLine::parse(text, 4).unwrap();
        (line.isolated.count(), line.nohz_full.count())
    };
    assert_eq!(flags("isolcpus=managed_irq,2-3"), (0, 0), "there are no devices to keep away");
    assert_eq!(flags("isolcpus=domain,managed_irq,1,2-3"), (3, 0));
    assert_eq!(flags("isolcpus=nohz,3"), (0, 1));
    for bad in [
        "isolcpus=domains,3",
        "isolcpus=domain",
        "isolcpus=domain,",
        "schedstats",
        "schedstats=on",
        "isolcpus=4",
        "isolcpus=3-1",
        "isolcpus=x",
        "isolcpus=0-3",
        "quiet",
        "nohz_full=",
    ] {
        assert!(CommandLine::parse(bad, 4).is_err(), "{bad}");
    }
}
