//! Unit tests of `agent/files.rs`.

use std::collections::BTreeMap;

use super::{Tunables, emulate, find, fits, put_back, set, shows};
use crate::agent::protocol::{Form, Setting, Value};

fn value(write: &str, shown: &[&str]) -> Value {
    Value { write: write.to_owned(), shown: shown.iter().map(|&each| each.to_owned()).collect() }
}

#[test]
fn the_first_alternative_with_files_is_written_and_put_back() {
    let folder = std::env::temp_dir().join(format!("schedlab-set-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    for name in ["old", "new-1", "new-2"] {
        std::fs::write(folder.join(name), "0").unwrap();
    }
    let setting = |name: &str, place, path: &str| Setting {
        name: name.to_owned(),
        place,
        path: folder.join(path).display().to_string(),
        text: Some(place.to_string()),
        steady: true,
    };
    let written = set(&[
        setting("a", 1, "absent"),
        setting("a", 2, "new-*"),
        setting("a", 3, "old"),
        setting("b", 4, "nothing"),
        setting("c", 5, ""),
    ]);
    let shown: Vec<_> = written.iter().map(|each| (each.place, each.shown.as_str())).collect();
    assert_eq!(shown, [(2, "2\n"), (2, "2\n"), (5, "")]);
    assert_eq!((written[0].error, written[2].error), (None, Some(libc::EISDIR)));
    assert_eq!(std::fs::read_to_string(folder.join("old")).unwrap(), "0");
    assert!(put_back(&written, &BTreeMap::new()).is_empty());
    std::fs::write(folder.join("new-2"), "7\n").unwrap();
    let changed = put_back(&written, &BTreeMap::new());
    assert_eq!(
        changed.iter().map(|each| (&*each.from, &*each.to, each.put_back)).collect::<Vec<_>>(),
        [("2", "7", true)]
    );
    assert_eq!(std::fs::read_to_string(folder.join("new-2")).unwrap(), "2\n");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_plain_file_is_replaced_without_following_a_link_beside_it() {
    let folder = std::env::temp_dir().join(format!("schedlab-planted-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (path, foreign) = (folder.join("knob"), folder.join("foreign"));
    std::fs::write(&path, "1\n").unwrap();
    std::fs::write(&foreign, "foreign").unwrap();
    for name in [".knob.schedlab".to_owned(), format!(".knob.schedlab-{}", std::process::id())] {
        std::os::unix::fs::symlink(&foreign, folder.join(name)).unwrap();
    }
    let tunables = Tunables::new(&folder);
    let write =
        || tunables.write(&path.display().to_string(), Form::Whole, &value("1", &["1"]), &value("2", &["2"]));
    assert_eq!(write().unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "foreign");
    std::fs::remove_file(folder.join(format!(".knob.schedlab-{}", std::process::id()))).unwrap();
    write().unwrap();
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "foreign");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "2\n");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn stars_stand_for_any_text() {
    assert!(fits("cpu12", "cpu*") && fits("cpu", "cpu*") && fits("a-b-c", "a*c"));
    assert!(!fits("cpufreq", "cpu*0") && !fits("gpu1", "cpu*"));
}

#[test]
fn plain_files_show_choices_and_features_as_the_kernel_does() {
    let (old, new) = (value("madvise", &["[madvise]", "(madvise)"]), value("never", &["[never]", "(never)"]));
    assert_eq!(emulate("always [madvise] never\n", Form::Word, &old, &new), "always madvise [never]\n");
    assert_eq!(emulate("never (madvise)\n", Form::Word, &old, &new), "(never) madvise\n");
    assert_eq!(emulate("none (madvise) never\n", Form::Word, &old, &new), "none madvise (never)\n");
    assert_eq!(emulate(" 5\n", Form::Whole, &value("5", &["5"]), &value("1", &["Y", "1"])), "Y\n");
    let (on, off) = (value("PLACE_LAG", &["PLACE_LAG"]), value("NO_PLACE_LAG", &["NO_PLACE_LAG"]));
    assert_eq!(emulate("A PLACE_LAG NO_B\n", Form::Word, &on, &off), "A NO_PLACE_LAG NO_B\n");
}

#[test]
fn a_word_shows_its_value_and_no_part_of_a_word_does() {
    let lag = value("PLACE_LAG", &["PLACE_LAG"]);
    assert!(shows("A PLACE_LAG B", Form::Word, &lag));
    assert!(!shows("A NO_PLACE_LAG B", Form::Word, &lag));
    assert!(shows(" 5 \n", Form::Whole, &value("5", &["5"])));
}

#[test]
fn the_newest_version_of_a_program_is_found() {
    let folder = std::env::temp_dir().join(format!("schedlab-find-{}", std::process::id()));
    for version in ["9.6", "15", "8"] {
        std::fs::create_dir_all(folder.join(version)).unwrap();
        std::fs::write(folder.join(version).join("no-such-tool"), "").unwrap();
    }
    let pattern = folder.join("*/no-such-tool").display().to_string();
    let found = find(&[("no-such-tool".to_owned(), vec![pattern])].into());
    assert_eq!(found["paths"]["no-such-tool"], folder.join("15/no-such-tool").display().to_string());
    std::fs::remove_dir_all(&folder).unwrap();
}
