use super::*;

/// Write whole messages of `bytes` until one does not fit; return their number.
fn fill(pages: &mut Pages, bytes: u64) -> usize {
    (0..)
        .take_while(|_| {
            pages.room(bytes, false) == bytes && {
                pages.write(bytes, false);
                true
            }
        })
        .count()
}

#[test]
fn a_page_takes_whole_small_writes_only() {
    let mut pages = Pages::default();
    assert_eq!(fill(&mut pages, 100), 16 * 40);
    // The end of the last page has room for a smaller write, unless the writer has waited.
    assert_eq!((pages.room(96, false), pages.room(96, true), pages.room(97, false)), (96, 0, 0));
}

#[test]
fn bytes_beyond_full_pages_go_to_the_last_page_if_they_fit() {
    let mut pages = Pages::default();
    pages.write(4000, false);
    assert_eq!(pages.room(1 << 20, false), 15 * 4096, "no byte is beyond full pages");
    pages.write(4096 + 96, false);
    assert_eq!(fill(&mut pages, 4096), 14);
    assert_eq!(pages.room(1, false), 0);
}

#[test]
fn a_read_wakes_a_writer_if_the_pipe_was_full_or_if_a_page_is_freed() {
    let rules = [PipeWakeups::All, PipeWakeups::OneIfFull, PipeWakeups::OneIfFreed];
    let mut pages = Pages::default();
    fill(&mut pages, 100);
    let mut wakes = |bytes| {
        pages.read(bytes);
        rules.map(|rule| pages.wakes_writer(rule))
    };
    assert_eq!(wakes(3900), [false, true, false]);
    assert_eq!(wakes(100), [true, true, true], "forty messages were in the first page");
    assert_eq!(wakes(3900), [false, false, false]);
    assert_eq!(wakes(100), [true, false, false]);
}

#[test]
fn a_writer_that_has_waited_writes_to_a_page_of_its_own() {
    let mut pages = Pages::default();
    fill(&mut pages, 100);
    pages.read(4000);
    pages.write(100, true);
    assert!(pages.full(), "the freed page has one message");
    assert_eq!(pages.room(100, true), 0);
    pages.read(4000);
    pages.write(100, true);
    assert!(pages.full(), "and so has the next");
    assert_eq!(pages.unread[..2], [100, 100]);
}

#[test]
fn reads_and_writes_in_any_order_lose_no_byte() {
    let (mut pages, mut inside) = (Pages::default(), 0);
    for step in 0..10_000u64 {
        let bytes = step * 7919 % 9000 + 1;
        let part = pages.room(bytes, false);
        pages.write(part, false);
        inside += part;
        let read = inside.min(step * 104_729 % 9000);
        pages.read(read);
        inside -= read;
        let unread: u64 = pages.unread.iter().map(|&bytes| u64::from(bytes)).sum();
        assert_eq!(unread, inside);
        assert!(inside <= Pages::BYTES);
    }
    pages.read(inside);
    assert_eq!(pages.count, 0);
}
