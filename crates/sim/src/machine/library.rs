//! The shipped machines.

use super::Machine;
use crate::error::SimError;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../python/schedlab/machines/", $name, ".toml")))),*]
    };
}

const SHIPPED: &[(&str, &str)] =
    shipped!["laptop-4", "rpi4b", "i7-3770", "xeon-e5-2670v3", "kunpeng920", "numa-q-16"];

const NAMES: &[&str] = &{
    let mut names = [""; SHIPPED.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SHIPPED[at].0;
        at += 1;
    }
    names
};

/// Names of the shipped machines.
pub fn machine_names() -> &'static [&'static str] {
    NAMES
}

/// A shipped machine.
pub fn machine(name: &str) -> Result<Machine, SimError> {
    let found = SHIPPED.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| SimError::Unknown {
        what: "machine",
        name: name.to_owned(),
        known: NAMES.join(", "),
    })?;
    Machine::from_toml(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_shipped_machine_is_sound_and_bears_its_name() {
        for name in super::machine_names() {
            assert_eq!(super::machine(name).unwrap().name, *name);
        }
        assert!(super::machine("pdp-11").unwrap_err().to_string().contains("kunpeng920"));
    }
}
