//! Unit tests of `agent/lock.rs`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{FILE, MachineLock};
use crate::agent::protocol::Kind;
use crate::sys::process::own_pid;

/// A folder and a name of a test's own.
struct Place {
    parent: PathBuf,
    name: String,
}

impl Place {
    fn new(test: &str) -> Self {
        let name = format!("schedlab-lock-{test}-{}", own_pid());
        let parent = std::env::temp_dir().join(&name);
        fs::create_dir(&parent).unwrap();
        Self { parent, name }
    }

    fn folder(&self) -> PathBuf {
        self.parent.join("locks")
    }

    fn take(&self) -> Result<MachineLock, super::Refusal> {
        MachineLock::take_from(&self.folder(), &self.name)
    }

    fn holder(&self) -> Result<Option<String>, super::Refusal> {
        MachineLock::holder_of(&self.folder(), &self.name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.parent);
    }
}

#[test]
fn a_free_machine_has_no_holder_and_asking_creates_nothing() {
    let place = Place::new("free");
    assert_eq!(place.holder(), Ok(None));
    assert!(!place.folder().exists());
}

#[test]
fn a_second_run_is_refused_with_process_and_user_of_the_first() {
    let place = Place::new("second");
    let first = place.take().unwrap();
    let words = format!("process {} of user ", own_pid());
    assert!(place.holder().unwrap().unwrap().contains(&words));
    let refusal = place.take().unwrap_err();
    assert!(refusal.kind == Kind::Busy && refusal.text.contains(&words), "{}", refusal.text);
    assert_eq!(fs::read_to_string(place.folder().join(FILE)).unwrap(), format!("{}\n", own_pid()));
    drop(first);
    assert_eq!(place.holder(), Ok(None));
    place.take().unwrap();
}

#[test]
fn users_have_their_name_and_unknown_users_their_number() {
    assert_eq!(super::user(0), "root");
    assert_eq!(super::user(4_123_456_789), "4123456789");
}

#[test]
fn two_runs_exclude_each_other_when_the_lock_file_is_deleted() {
    let place = Place::new("deleted");
    let _first = place.take().unwrap();
    fs::remove_dir_all(place.folder()).unwrap();
    assert!(place.holder().unwrap().is_some());
    assert_eq!(place.take().unwrap_err().kind, Kind::Busy);
}

#[test]
fn the_lock_file_excludes_runs_that_do_not_share_the_network() {
    let place = Place::new("network");
    // Two names represent two network namespaces.
    let _first = MachineLock::take_from(&place.folder(), &format!("{}-elsewhere", place.name)).unwrap();
    let words = format!("process {}", own_pid());
    assert_eq!(place.holder().unwrap().unwrap(), words);
    let refusal = place.take().unwrap_err();
    assert!(refusal.kind == Kind::Busy && refusal.text.contains(&words), "{}", refusal.text);
}

#[test]
fn only_a_regular_file_of_this_user_with_one_link_is_locked() {
    type Put = fn(&Path, &Path);
    let puts: [(&str, Put); 4] = [
        ("link", |path, victim| symlink(victim, path).unwrap()),
        ("hardlink", |path, victim| fs::hard_link(victim, path).unwrap()),
        ("pipe", |path, _| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap()),
        ("folder", |path, _| fs::create_dir(path).unwrap()),
    ];
    for (kind, put) in puts {
        let place = Place::new(kind);
        fs::create_dir(place.folder()).unwrap();
        let victim = place.parent.join("victim");
        fs::write(&victim, "precious").unwrap();
        put(&place.folder().join(FILE), &victim);
        for refusal in [place.take().unwrap_err(), place.holder().unwrap_err()] {
            assert!(refusal.kind == Kind::Lock && refusal.text.contains(FILE), "{kind}: {}", refusal.text);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}

#[test]
fn another_users_lock_file_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        return; // only root can make a file of another user
    }
    let place = Place::new("user");
    fs::create_dir(place.folder()).unwrap();
    let path = place.folder().join(FILE);
    fs::write(&path, "").unwrap();
    std::os::unix::fs::chown(&path, Some(12345), Some(12345)).unwrap();
    assert_eq!(place.take().unwrap_err().kind, Kind::Lock);
}

#[test]
fn a_folder_that_others_can_write_is_refused_and_the_machine_stays_free() {
    let place = Place::new("open");
    fs::create_dir(place.folder()).unwrap();
    fs::set_permissions(place.folder(), Permissions::from_mode(0o777)).unwrap();
    assert_eq!(place.take().unwrap_err().kind, Kind::Lock);
    fs::set_permissions(place.folder(), Permissions::from_mode(0o700)).unwrap();
    place.take().unwrap();
}
