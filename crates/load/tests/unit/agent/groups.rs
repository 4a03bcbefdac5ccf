//! Control groups of both versions in a tree of plain files, and their removal by the next recovery.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CPUSET, groups};
use crate::agent::changes::Changes;
use crate::agent::files::Tunables;
use crate::agent::records::Opened;
use crate::agent::recovery::recover;
use crate::agent::resources::Resource;

/// A tree with control groups, deleted with the test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("schedlab-groups-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (path, text) in files {
            let path = root.join("sys/fs/cgroup").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn version_1(name: &str) -> Self {
        let cpuset = CPUSET.map(|file| format!("cpuset/{file}"));
        Self::new(
            name,
            &[
                ("cpu/tasks", ""),
                ("cpu/cpu.shares", "1024\n"),
                ("cpuset/tasks", ""),
                (&cpuset[0], "0-3\n"),
                (&cpuset[1], "0\n"),
            ],
        )
    }

    fn version_2(name: &str, enabled: &str) -> Self {
        Self::new(
            name,
            &[
                ("cgroup.controllers", "cpuset cpu memory\n"),
                ("cgroup.subtree_control", enabled),
                ("cpu.max", "max 100000\n"),
            ],
        )
    }

    fn changes(&self) -> Changes {
        Changes::new(Tunables::new(&self.0), &self.0.join("journals"), Opened::new("run", &self.0, None))
    }

    fn make(
        &self,
        changes: Option<&mut Changes>,
        controllers: &[&str],
        make: bool,
    ) -> Result<serde_json::Value, String> {
        let controllers: Vec<String> = controllers.iter().map(|name| (*name).to_owned()).collect();
        groups(&Tunables::new(&self.0), changes, &["tenant".to_owned()], &controllers, make)
            .map_err(|refusal| refusal.text)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join("sys/fs/cgroup").join(path)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_group_of_version_2_is_one_directory_and_ends_with_the_run() {
    let tree = Tree::version_2("two", "cpu memory\n");
    let mut changes = tree.changes();
    let made = tree.make(Some(&mut changes), &["cpu"], true).unwrap();
    let folder = tree.path("schedlab.tenant");
    assert_eq!(made["version"], 2);
    assert_eq!(made["groups"]["tenant"]["cpu"], folder.display().to_string());
    assert_eq!(fs::read_to_string(folder.join("cpu.max")).unwrap(), "max 100000\n");
    assert_eq!(changes.undo().len(), 1);
    assert!(!folder.exists());
    assert_eq!(fs::read_to_string(tree.path("cgroup.subtree_control")).unwrap(), "cpu memory\n");
}

#[test]
fn a_group_of_version_1_has_a_directory_in_each_hierarchy() {
    let tree = Tree::version_1("one");
    let made = tree.make(None, &["cpu", "cpuset"], true).unwrap();
    assert_eq!(made["version"], 1);
    assert!(tree.path("cpu/schedlab.tenant/cpu.shares").exists());
    assert_eq!(fs::read_to_string(tree.path("cpuset/schedlab.tenant/cpuset.cpus")).unwrap(), "0-3\n");
}

#[test]
fn the_next_agent_removes_the_groups_of_a_killed_agent_and_their_controllers() {
    let tree = Tree::version_2("killed", "cpu\n");
    let mut changes = tree.changes();
    tree.make(Some(&mut changes), &["cpu", "cpuset"], true).unwrap();
    // A plain file keeps the last text, where the kernel's file would add the controllers.
    assert_eq!(fs::read_to_string(tree.path("cgroup.subtree_control")).unwrap(), "+cpuset");
    drop(changes);
    let removed: Vec<String> =
        recover(&tree.0.join("journals")).unwrap().into_iter().map(|each| each.name).collect();
    assert_eq!(removed, ["folder", "controllers"]);
    assert!(!tree.path("schedlab.tenant").exists());
    assert_eq!(fs::read_to_string(tree.path("cgroup.subtree_control")).unwrap(), "-cpuset");
}

#[test]
fn a_check_makes_nothing() {
    let tree = Tree::version_2("check", "\n");
    tree.make(None, &["cpu"], false).unwrap();
    assert!(!tree.path("schedlab.tenant").exists());
    assert_eq!(fs::read_to_string(tree.path("cgroup.subtree_control")).unwrap(), "\n");
}

#[test]
fn a_machine_without_the_controller_and_a_group_of_the_same_name_are_refused_by_name() {
    let tree = Tree::version_2("lacking", "cpu\n");
    assert!(tree.make(None, &["cpu", "io"], false).unwrap_err().contains("lacks the controller io"));
    fs::create_dir(tree.path("schedlab.tenant")).unwrap();
    assert!(tree.make(None, &["cpu"], false).unwrap_err().contains("schedlab.tenant exists"));
    let none = Tree::new("none", &[("devices/tasks", "")]);
    assert!(none.make(None, &["cpu"], false).unwrap_err().contains("has the controller cpu neither"));
}

#[test]
fn controllers_of_a_mount_that_is_gone_need_no_removal() {
    let name = format!("{} -cpu", Path::new("/nonexistent/cgroup.subtree_control").display());
    assert!(!Resource { what: "controllers".to_owned(), name, undo: None }.remove(false).unwrap());
}
