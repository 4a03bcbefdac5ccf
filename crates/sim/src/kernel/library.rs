//! The shipped kernel models.

use super::Kernel;
use crate::error::SimError;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../python/schedlab/kernels/", $name, ".toml")))),*]
    };
}

const SHIPPED: &[(&str, &str)] = shipped!["linux-2.5.59", "linux-4.5", "linux-5.14", "linux-6.12"];

const NAMES: &[&str] = &{
    let mut names = [""; SHIPPED.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SHIPPED[at].0;
        at += 1;
    }
    names
};

/// Names of the shipped kernel models.
pub fn kernel_names() -> &'static [&'static str] {
    NAMES
}

/// A shipped kernel model.
pub fn kernel(name: &str) -> Result<Kernel, SimError> {
    let found = SHIPPED.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| SimError::Unknown {
        what: "kernel model",
        name: name.to_owned(),
        known: NAMES.join(", "),
    })?;
    Kernel::from_toml(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_shipped_kernel_is_sound_and_bears_its_name() {
        for name in super::kernel_names() {
            assert_eq!(super::kernel(name).unwrap().name, *name);
        }
        assert!(super::kernel("linux-1.0").unwrap_err().to_string().contains("linux-5.14"));
    }
}
