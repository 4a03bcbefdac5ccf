//! The shipped kernel models.

use super::Kernel;
use crate::error::SimError;
use crate::shipped::{Files, files, names, text};

const SHIPPED: Files<4> = files!("kernels": "linux-2.5.59", "linux-4.5", "linux-5.14", "linux-6.12");

/// Names of the shipped kernel models.
pub fn kernel_names() -> &'static [&'static str] {
    const { &names(&SHIPPED) }
}

/// A shipped kernel model.
pub fn kernel(name: &str) -> Result<Kernel, SimError> {
    Kernel::from_toml(text(&SHIPPED, "kernel model", name)?)
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
