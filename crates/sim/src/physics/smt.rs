//! SMT siblings slow each other.

use crate::balance::KernelPolicy;
use crate::engine::{Engine, FULL, NOBODY};
use crate::observe::Observer;

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// A CPU has become busy or idle: it and its siblings have another speed from now on.
    #[inline]
    pub(crate) fn smt_changed(&mut self, cpu: usize) {
        if self.topology.threads > 1 {
            self.retime_core(cpu);
        }
    }

    fn retime_core(&mut self, cpu: usize) {
        let core = *self.topology.core_cpus(self.topology.core(cpu));
        let busy = core.iter().filter(|each| self.cpus[*each].current != NOBODY).count();
        for each in core.iter() {
            let rate = if busy > 1 { u64::from(self.costs.smt_percent) * FULL / 100 } else { FULL };
            if self.cpus[each].rate != rate {
                self.settle(each);
                self.cpus[each].rate = rate;
                if each != cpu {
                    self.rekey(each);
                }
            }
        }
    }
}
