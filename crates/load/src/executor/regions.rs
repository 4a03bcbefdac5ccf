//! Memory regions that one task can access.

use std::collections::BTreeMap;
use std::io;

use schedlab_workload::program::{Pattern, Scope};
use schedlab_workload::{Plan, TaskId};

use super::spin::xorshift;
use crate::sys::memory::Mapping;

/// A task's private regions, and access to the shared regions.
pub struct Regions<'r> {
    shared: &'r BTreeMap<u32, Mapping>,
    private: BTreeMap<u32, Mapping>,
}

/// Map the regions that tasks share.
pub fn map_shared(plan: &Plan) -> io::Result<BTreeMap<u32, Mapping>> {
    let mut mappings = BTreeMap::new();
    for instance in 0..plan.regions().total() {
        let region = &plan.program().resources.regions[plan.regions().position(instance)];
        if region.scope != Scope::Task {
            mappings.insert(instance, Mapping::shared(region.bytes as usize)?);
        }
    }
    Ok(mappings)
}

impl<'r> Regions<'r> {
    /// Map the private regions of `task`, without touching their pages.
    pub fn of(plan: &Plan, shared: &'r BTreeMap<u32, Mapping>, task: TaskId) -> io::Result<Self> {
        let mut private = BTreeMap::new();
        for (position, region) in plan.program().resources.regions.iter().enumerate() {
            if region.scope == Scope::Task {
                for index in 0..region.count {
                    let instance = plan.regions().instance(position, task, index);
                    private.insert(instance, Mapping::private(region.bytes as usize)?);
                }
            }
        }
        Ok(Self { shared, private })
    }

    /// Accesses every `stride`-th of `bytes` bytes from `offset` on, or as many random multiples of the stride, for a chase each
    /// known only when the access before has returned its value.
    pub fn touch(
        &self,
        region: u32,
        (offset, bytes, stride): (u64, u64, u32),
        pattern: Pattern,
        write: bool,
        seed: u64,
    ) {
        let Some(mapping) = self.private.get(&region).or_else(|| self.shared.get(&region)) else { return };
        let size = mapping.bytes() as u64;
        let stride = u64::from(stride);
        let access = |at: u64| {
            if write { mapping.touch_write(at as usize) } else { mapping.touch_read(at as usize) }
        };
        match pattern {
            Pattern::Sequential => {
                let mut at = offset % size;
                for _ in 0..bytes.div_ceil(stride) {
                    access(at);
                    at += stride;
                    if at >= size {
                        at %= size;
                    }
                }
            }
            Pattern::Random | Pattern::Chase => {
                let places = size.div_ceil(stride);
                let mut state = seed | 1;
                for _ in 0..bytes.div_ceil(stride) {
                    state = xorshift(state);
                    let value = access(((u128::from(state) * u128::from(places)) >> 64) as u64 * stride);
                    if pattern == Pattern::Chase {
                        state ^= u64::from(value);
                    }
                }
            }
        }
    }
}
