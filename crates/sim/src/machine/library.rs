//! The shipped machines.

use super::Machine;
use crate::error::SimError;
use crate::shipped::{Files, files, names, text};

const SHIPPED: Files<6> =
    files!("machines": "laptop-4", "rpi4b", "i7-3770", "xeon-e5-2670v3", "kunpeng920", "numa-q-16");

/// Names of the shipped machines.
pub fn machine_names() -> &'static [&'static str] {
    const { &names(&SHIPPED) }
}

/// A shipped machine.
pub fn machine(name: &str) -> Result<Machine, SimError> {
    Machine::from_toml(text(&SHIPPED, "machine", name)?)
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
