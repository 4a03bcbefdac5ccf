//! Models that come with the package: its files, compiled in.

use crate::error::SimError;

/// Names and texts.
pub(crate) type Files<const N: usize> = [(&'static str, &'static str); N];

/// The files `NAME.toml` of a folder of the Python package.
macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        [$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/schedlab/", $folder, "/", $name, ".toml")),
        )),*]
    };
}
pub(crate) use files;

/// Their names.
pub(crate) const fn names<const N: usize>(files: &Files<N>) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = files[at].0;
        at += 1;
    }
    names
}

/// The text of the `what` of a name; the error names those that there are.
pub(crate) fn text<const N: usize>(
    files: &Files<N>,
    what: &'static str,
    name: &str,
) -> Result<&'static str, SimError> {
    let found = files.iter().find(|(known, _)| *known == name);
    let unknown = || SimError::Unknown { what, name: name.to_owned(), known: names(files).join(", ") };
    found.map(|(_, text)| *text).ok_or_else(unknown)
}
