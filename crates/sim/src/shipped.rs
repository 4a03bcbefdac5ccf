//! The machines and kernel models of `models/`, compiled in.

use crate::error::SimError;

/// The files of one folder of `models/`: pairs of a name and the TOML text of `NAME.toml`.
pub(crate) struct Files {
    /// Kind of the folder's models, for error messages.
    kind: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! files {
    ($kind:literal, $folder:literal: $($name:literal),* $(,)?) => {
        Files { kind: $kind, files: &[$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/", $folder, "/", $name, ".toml")),
        )),*] }
    };
}

/// The shipped machines.
pub(crate) static MACHINES: Files = files!("machine", "machines": "laptop-4", "rpi4b", "i7-3770", "xeon-e5-2670v3", "xeon-x5650", "kunpeng920", "epyc-7713", "numa-q-16");

/// The shipped kernel models, oldest first.
pub(crate) static KERNELS: Files = files!("kernel model", "kernels": "linux-2.5.59", "linux-3.8", "linux-4.5", "linux-5.10", "linux-5.14", "linux-6.1", "linux-6.6", "linux-6.12", "linux-6.18", "linux-7.2");

impl Files {
    /// Pairs of a name and its TOML text.
    pub fn all(&self) -> &'static [(&'static str, &'static str)] {
        self.files
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.files.iter().map(|(name, _)| *name)
    }

    /// The TOML text of a model. The error lists the names that exist.
    pub fn text(&self, name: &str) -> Result<&'static str, SimError> {
        let file = self.files.iter().find(|(other, _)| *other == name);
        file.map(|(_, text)| *text).ok_or_else(|| SimError::Unknown {
            kind: self.kind,
            name: name.to_owned(),
            known: self.names().collect::<Vec<_>>().join(", "),
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/shipped.rs"]
mod tests;
