//! Unit tests of `agent/place.rs`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{lock_folder, remove_dead_folders};

fn folder(parent: &Path, name: &str) -> PathBuf {
    let path = parent.join(name);
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    path
}

#[test]
fn only_folders_of_dead_agents_are_removed() {
    let parent = std::env::temp_dir().join(format!("schedlab-place-{}", std::process::id()));
    fs::create_dir(&parent).unwrap();
    let own = folder(&parent, "schedlab-0000000000000000");
    let dead = folder(&parent, "schedlab-0123456789abcdef");
    drop(lock_folder(&dead).unwrap());
    let live = folder(&parent, "schedlab-1111111111111111");
    let _live = lock_folder(&live).unwrap();
    let copying = folder(&parent, "schedlab-2222222222222222");
    let foreign = folder(&parent, "schedlab-mine");
    drop(lock_folder(&foreign).unwrap());
    let open = folder(&parent, "schedlab-3333333333333333");
    drop(lock_folder(&open).unwrap());
    fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    let link = parent.join("schedlab-4444444444444444");
    symlink(&foreign, &link).unwrap();

    remove_dead_folders(&own);

    assert!(!dead.exists());
    for kept in [own, live, copying, foreign, open, link] {
        assert!(kept.exists(), "{} was removed", kept.display());
    }
    fs::remove_dir_all(parent).unwrap();
}
