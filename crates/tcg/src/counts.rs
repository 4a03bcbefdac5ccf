//! Numbers of instructions by function.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lowest address of the kernel's half of the address space with four-level and five-level page tables
/// (Documentation/arch/x86/x86_64/mm.rst).
const KERNEL: u64 = 0xff00_0000_0000_0000;

/// Number of the counter of all instructions outside of the kernel.
const USER: usize = 0;

/// A counter for user code, one for each symbol (from 1), and one for kernel code below the first symbol.
///
/// QEMU's generated code adds to the counters through their addresses, which never change.
pub(crate) struct Counts {
    starts: Vec<u64>,
    counters: Box<[AtomicU64]>,
}

impl Counts {
    /// Reads ascending addresses of functions, a hexadecimal number in each line.
    pub(crate) fn new(symbols: &str) -> Result<Self, String> {
        let number =
            |line: &str| u64::from_str_radix(line, 16).map_err(|_| format!("{line:?} is not an address"));
        let starts = symbols.lines().map(number).collect::<Result<Vec<u64>, String>>()?;
        if !starts.is_sorted() {
            return Err("the addresses do not ascend".to_owned());
        }
        let counters = (0..starts.len() + 2).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { starts, counters })
    }

    /// The counter of the function that contains this address.
    pub(crate) fn of(&self, address: u64) -> &AtomicU64 {
        let number = match self.starts.partition_point(|start| *start <= address) {
            _ if address < KERNEL => USER,
            0 => self.starts.len() + 1,
            number => number,
        };
        &self.counters[number]
    }

    /// Sets all counters to 0 and returns the previous values that were not 0: `0:12 7:340`.
    pub(crate) fn take(&self) -> String {
        let mut text = String::new();
        for (number, counter) in self.counters.iter().enumerate() {
            let count = counter.load(Ordering::Relaxed);
            if count > 0 {
                counter.store(0, Ordering::Relaxed);
                let separator = if text.is_empty() { "" } else { " " };
                write!(text, "{separator}{number}:{count}").expect("a String takes any text");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Counts {
        Counts::new("ffffffff81000000\nffffffff81000040\n").unwrap()
    }

    #[test]
    fn an_address_belongs_to_the_function_that_begins_last_before_it() {
        let counts = counts();
        for address in [0x40_1000, 0xffff_ffff_8100_0000, 0xffff_ffff_8100_003f, 0xffff_ffff_8100_0040] {
            counts.of(address).fetch_add(1, Ordering::Relaxed);
        }
        counts.of(u64::MAX).fetch_add(5, Ordering::Relaxed);
        assert_eq!(counts.take(), "0:1 1:2 2:6");
    }

    #[test]
    fn kernel_code_below_the_first_symbol_has_its_own_counter() {
        let counts = counts();
        counts.of(0xffff_fe00_0000_0000).fetch_add(3, Ordering::Relaxed);
        assert_eq!(counts.take(), "3:3");
    }

    #[test]
    fn taking_begins_at_0_again() {
        let counts = counts();
        counts.of(0).fetch_add(1, Ordering::Relaxed);
        counts.take();
        assert_eq!(counts.take(), "");
    }

    #[test]
    fn addresses_that_descend_and_other_texts_are_refused() {
        assert!(Counts::new("20\n10\n").is_err());
        assert!(Counts::new("main\n").is_err());
    }
}
