//! `schedload scripts`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use schedlab_workload::library::scripts::{COMMANDS, Scripts, files};

use super::program::Prepared;
use crate::error::LoadError;

/// Streams of short UNIX command scripts; neither SPEC's SDET nor comparable to it.
///
/// The scripts run in a directory of their own, in memory (/dev/shm) where possible, which is removed at the end. They
/// need sh, cat, cmp, cp, expr, grep, head, ls, mkdir, rm, sort, tail, tr, uniq and wc.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Streams at once.
    #[arg(short, long, default_value_t = 4, value_name = "NUM")]
    streams: u32,
    /// Scripts that each stream runs.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "NUM")]
    scripts: u64,
    /// Seed of the choice of scripts.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Arguments {
    pub(super) fn prepare(&self) -> Result<Prepared, LoadError> {
        let parameters = Scripts { streams: self.streams, scripts: self.scripts, seed: self.seed };
        let workplace: fn() -> Result<Workplace, LoadError> = Workplace::enter;
        Ok(Prepared { workplace: Some(workplace), ..Prepared::new(parameters.program()?, &parameters) })
    }
}

/// The directory that scripts run in; removed when dropped.
#[derive(Debug)]
pub struct Workplace(PathBuf);

impl Workplace {
    /// Makes the directory with its files and makes it the current one.
    fn enter() -> Result<Self, LoadError> {
        let missing: Vec<&str> = COMMANDS.into_iter().filter(|command| !in_path(command)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(LoadError::Usage(format!(
                "the scripts need commands that are not in PATH: {missing}"
            )));
        }
        let name = format!("schedload-scripts-{}", std::process::id());
        let memory = Path::new("/dev/shm").join(&name);
        let path = match fs::create_dir(&memory) {
            Ok(()) => memory,
            Err(_) => {
                let other = std::env::temp_dir().join(&name);
                let failed = LoadError::system(format!("making {}", other.display()));
                fs::create_dir(&other).map_err(failed)?;
                other
            }
        };
        let place = Self(path);
        for (name, contents) in files() {
            fs::write(place.0.join(name), contents).map_err(LoadError::system(format!("writing {name}")))?;
        }
        let failed = LoadError::system(format!("entering {}", place.0.display()));
        std::env::set_current_dir(&place.0).map_err(failed)?;
        Ok(place)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn in_path(command: &str) -> bool {
    let executable = |folder: PathBuf| {
        let metadata = fs::metadata(folder.join(command));
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(executable))
}
