//! Unit tests of `agent/resources.rs`.

use std::fs::{self, File};

use super::{PAUSE, Resource, lock};

#[test]
fn a_folder_whose_owner_is_ending_is_removed_when_its_lock_is_released() {
    let path = std::env::temp_dir().join(format!("schedlab-ending-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    let owner = lock(File::open(&path).unwrap()).unwrap().unwrap();
    let ending = std::thread::spawn(move || {
        std::thread::sleep(2 * PAUSE);
        drop(owner);
    });
    let folder = Resource { what: "folder".to_owned(), name: path.display().to_string(), undo: None };
    assert!(folder.remove(false).unwrap());
    assert!(!path.exists());
    ending.join().unwrap();
}
