//! Files: locks, private folders, file systems of the kernel, programs in `PATH`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::mount::MsFlags;

/// Lock a file or folder; `None` if another process has the lock.
pub fn lock(file: File) -> io::Result<Option<Flock<File>>> {
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(file) => Ok(Some(file)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Make a folder that only this user can write, or check that an existing folder has this property.
pub fn private(folder: &Path, mode: u32) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(mode).create(folder)?;
    let state = fs::symlink_metadata(folder)?;
    if !state.is_dir() || state.uid() != nix::unistd::geteuid().as_raw() || state.mode() & 0o022 != 0 {
        let text = format!("{} is not a folder that only this user can write", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

/// Mount a file system of the kernel at its place, in a mount namespace of this process. The mount ends with this process
/// and its children.
pub fn mount(kind: &str, place: &Path) -> io::Result<()> {
    let none: Option<&str> = None;
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
    nix::mount::mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(nix::mount::mount(Some("schedlab"), place, Some(kind), flags, none)?)
}

/// The path of a program in `PATH`.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|state| state.is_file() && state.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(is_program)
}
