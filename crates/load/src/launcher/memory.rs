//! Memory policies (set_mempolicy(2)) in the notation of the command line: `bind:0`, `interleave:all`, `preferred:1`, `local`.

use std::io;

use schedlab_workload::cpulist::{parse, show};

use crate::sys::sched;

/// Policies by name and number.
const MODES: [(&str, i32); 5] = [
    ("default", libc::MPOL_DEFAULT),
    ("preferred", libc::MPOL_PREFERRED),
    ("bind", libc::MPOL_BIND),
    ("interleave", libc::MPOL_INTERLEAVE),
    ("local", libc::MPOL_LOCAL),
];

/// A memory policy to apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPolicy {
    mode: i32,
    /// `None` for all nodes that the thread may use.
    nodes: Option<Vec<usize>>,
}

impl MemoryPolicy {
    /// Parse a policy of the command line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a memory policy: write bind:NODES or interleave:NODES, with a list such as 0-1 or all; \
                 preferred:NODE; or local"
            )
        };
        let (name, list) = text.split_once(':').map_or((text, None), |(name, list)| (name, Some(list)));
        let mode = MODES.iter().find(|(each, _)| *each == name).ok_or_else(wrong)?.1;
        let nodes = match (mode, list) {
            (libc::MPOL_LOCAL, None) => Some(Vec::new()),
            (libc::MPOL_PREFERRED, Some(node)) => Some(vec![node.parse().map_err(|_| wrong())?]),
            (libc::MPOL_BIND | libc::MPOL_INTERLEAVE, Some("all")) => None,
            (libc::MPOL_BIND | libc::MPOL_INTERLEAVE, Some(list)) => {
                Some(parse(list, None).map_err(|_| wrong())?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self { mode, nodes })
    }

    /// Apply the policy to the calling thread. The error names the nodes that exist.
    pub fn apply(&self) -> Result<(), String> {
        let refused = |error: io::Error| {
            let lacking = if error.raw_os_error() == Some(libc::ENOSYS) {
                ": this kernel has no memory policies (CONFIG_NUMA)"
            } else {
                ""
            };
            format!("memory policy: {error}{lacking}")
        };
        let there = sched::memory_nodes().map_err(refused)?;
        let wanted = self.nodes.as_ref().unwrap_or(&there);
        let missing: Vec<usize> = wanted.iter().copied().filter(|node| !there.contains(node)).collect();
        if !missing.is_empty() {
            let (missing, there) = (show(&missing), show(&there));
            return Err(format!(
                "memory policy: node {missing} has no memory for this process (nodes: {there})"
            ));
        }
        sched::set_memory_policy(self.mode, wanted.iter().copied()).map_err(refused)?;
        let (in_effect, wanted) = (in_effect().map_err(refused)?, shown(self.mode, wanted));
        if in_effect == wanted {
            Ok(())
        } else {
            Err(format!("memory policy: {wanted} was set without an error, but {in_effect} is in effect"))
        }
    }
}

/// The calling thread's memory policy.
pub fn in_effect() -> io::Result<String> {
    sched::memory_policy().map(|(mode, nodes)| shown(mode, &nodes))
}

fn shown(mode: i32, nodes: &[usize]) -> String {
    let known = MODES.iter().find(|(_, number)| *number == mode);
    let name = known.map_or_else(|| mode.to_string(), |(name, _)| (*name).to_owned());
    if nodes.is_empty() { name } else { format!("{name}:{}", show(nodes)) }
}
