//! Unit tests of `agent/records.rs`.

use std::path::Path;

use super::{Contents, Opened, Record, decode, line};

fn text() -> Vec<String> {
    let opened = Record::Opened(Opened::new("run-1", Path::new("/"), None));
    let records = [opened, Record::Done { n: vec![1] }, Record::End];
    (1..).zip(&records).map(|(seq, record)| line(seq, record).unwrap()).collect()
}

fn read(lines: &[String]) -> Contents {
    decode(lines.concat().as_bytes())
}

#[test]
fn an_undamaged_journal_has_all_records() {
    let contents = read(&text());
    assert_eq!((contents.records.len(), contents.damage), (2, None));
}

#[test]
fn every_damage_is_reported_and_the_other_records_are_read() {
    let lines = text();
    let flipped = lines[1].replace("done", "dona");
    assert!(read(&lines[..2]).damage.unwrap().contains("the end is missing"));
    assert!(read(&[lines[0].clone(), lines[2].clone()]).damage.unwrap().contains("missing before"));
    let contents = read(&[lines[0].clone(), flipped, lines[2].clone()]);
    assert!(contents.damage.unwrap().contains("line 2"));
    assert_eq!(contents.records.len(), 1);
    assert!(read(&lines[1..]).damage.is_some());
    assert!(decode(b"").damage.is_some());
    assert!(decode(&[0; 512]).damage.is_some());
    let cut = &lines.concat()[..lines.concat().len() - 3];
    assert!(decode(cut.as_bytes()).damage.is_some());
}
