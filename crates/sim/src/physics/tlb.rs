//! Address spaces whose translations the TLB of a CPU keeps.

/// Address spaces that x86 kernels distinguish in a CPU's TLB (`TLB_NR_DYN_ASIDS`, arch/x86/include/asm/tlbflush.h, v4.14 to
/// v6.12).
const ASIDS: usize = 6;

/// The TLBs of all CPUs, and the number of the newest address space. Address spaces are numbered from 1.
#[derive(Debug, Clone)]
pub(crate) struct Tlbs {
    newest: u32,
    cpus: Vec<Tlb>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tlb {
    spaces: [u32; ASIDS],
    next: u8,
}

impl Tlbs {
    pub fn new(cpus: usize) -> Self {
        Self { newest: 0, cpus: vec![Tlb::default(); cpus] }
    }

    /// Number of a new address space.
    pub fn new_space(&mut self) -> u32 {
        self.newest = self.newest.wrapping_add(1).max(1);
        self.newest
    }

    /// Load the page tables of an address space on a CPU; return whether the TLB has lost its translations: address spaces take
    /// the six identifiers in turn (`choose_new_asid()`, arch/x86/mm/tlb.c, v4.14 to v6.12).
    #[inline]
    pub fn load(&mut self, cpu: usize, space: u32) -> bool {
        let tlb = &mut self.cpus[cpu];
        if tlb.spaces.contains(&space) {
            return false;
        }
        tlb.spaces[usize::from(tlb.next)] = space;
        tlb.next = (tlb.next + 1) % ASIDS as u8;
        true
    }
}

#[cfg(test)]
#[path = "../../tests/unit/physics/tlb.rs"]
mod tests;
