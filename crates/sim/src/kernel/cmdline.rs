//! The kernel's command line: the parameters that the simulator models.

use schedlab_workload::cpulist;

use crate::error::SimError;
use crate::machine::CpuMask;

/// Values of a command line (Documentation/admin-guide/kernel-parameters.txt).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// `isolcpus=` with the flag `domain`: CPUs outside of all domains, which run only tasks that are bound to them.
    pub isolated: CpuMask,
    /// `nohz_full=`: CPUs without a tick while one task runs.
    pub nohz_full: CpuMask,
    /// `schedstats=`: whether scheduler statistics are counted from the start.
    pub schedstats: Option<bool>,
}

impl CommandLine {
    /// Parse a command line for a machine with `cpus` CPUs. A parameter that the simulator does not model is an error,
    /// because ignoring it would be misleading.
    pub fn parse(text: &str, cpus: usize) -> Result<Self, SimError> {
        let mut line = Self { isolated: CpuMask::EMPTY, nohz_full: CpuMask::EMPTY, schedstats: None };
        for parameter in text.split_whitespace() {
            let wrong = |reason: String| SimError::CommandLine { parameter: parameter.to_owned(), reason };
            match parameter.split_once('=') {
                Some(("isolcpus", list)) => line.isolate(list, cpus).map_err(wrong)?,
                Some(("nohz_full", list)) => line.nohz_full = cpu_list(list, cpus).map_err(wrong)?,
                Some(("schedstats", "enable")) => line.schedstats = Some(true),
                Some(("schedstats", "disable")) => line.schedstats = Some(false),
                Some(("schedstats", _)) => {
                    return Err(wrong("the value must be enable or disable".to_owned()));
                }
                _ => {
                    let reason = "the simulator models isolcpus=, nohz_full= and schedstats=";
                    return Err(wrong(reason.to_owned()));
                }
            }
        }
        if line.isolated.count() == cpus {
            let (parameter, reason) = ("isolcpus".to_owned(), "no CPU would be left".to_owned());
            return Err(SimError::CommandLine { parameter, reason });
        }
        Ok(line)
    }

    /// Parse `isolcpus=[flag,…]list`, whose flag is `domain` by default. `managed_irq` concerns interrupts of devices and has
    /// no effect, because simulated machines have no devices. Kernels have flags since 4.15.
    fn isolate(&mut self, text: &str, cpus: usize) -> Result<(), String> {
        let (mut flags, mut list) = (Vec::new(), text);
        while let Some((flag, rest)) =
            list.split_once(',').filter(|(flag, _)| !flag.contains(char::is_numeric))
        {
            flags.push(flag);
            list = rest;
        }
        let mask = cpu_list(list, cpus)?;
        if flags.is_empty() {
            self.isolated = mask;
        }
        for flag in flags {
            match flag {
                "domain" => self.isolated = mask,
                "nohz" => self.nohz_full = mask,
                "managed_irq" => {}
                _ => return Err(format!("unknown flag `{flag}` (known: domain, nohz, managed_irq)")),
            }
        }
        Ok(())
    }
}

fn cpu_list(text: &str, cpus: usize) -> Result<CpuMask, String> {
    Ok(cpulist::parse(text, Some(cpus))?.into_iter().collect())
}

#[cfg(test)]
#[path = "../../tests/unit/kernel/cmdline.rs"]
mod tests;
