//! The identity of a boot: no request can restart another machine than the intended machine.

use std::fs;

use crate::error::LoadError;

/// File with a random number that the kernel draws at each boot (random(4)). Containers share the number of their host.
const FILE: &str = "/proc/sys/kernel/random/boot_id";

/// Characters of an identity: 32 hexadecimal digits and four dashes.
const LENGTH: usize = 36;

/// The identity of a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootId(String);

impl std::str::FromStr for BootId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if fits {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(format!("is not the identity of a boot, which {FILE} contains"))
        }
    }
}

impl BootId {
    /// Return an error unless the machine still is in this boot.
    pub fn require_current(&self) -> Result<(), LoadError> {
        let running = fs::read_to_string(FILE).map_err(LoadError::system(format!("reading {FILE}")))?;
        self.require(running.trim())
    }

    fn require(&self, running: &str) -> Result<(), LoadError> {
        if running.eq_ignore_ascii_case(&self.0) {
            return Ok(());
        }
        Err(LoadError::Boot(format!(
            "the request is for boot {}, and this is boot {running}: nothing was changed",
            self.0
        )))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/boot/request.rs"]
mod tests;
