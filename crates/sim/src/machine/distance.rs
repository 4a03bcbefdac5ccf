//! Distances between CPUs, and costs that depend on them.

use serde::{Deserialize, Serialize};

/// Distance between two CPUs: the smallest unit that both share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Distance {
    /// The core: the same CPU or an SMT sibling.
    Core,
    /// The cluster of cores.
    Cluster,
    /// The last-level cache.
    Llc,
    /// The NUMA node.
    Node,
    /// The socket.
    Near,
    /// Only the machine: the CPUs are in different sockets.
    Far,
}

impl Distance {
    /// Number of distances.
    pub const COUNT: usize = 6;
    /// All distances, nearest first.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Core, Self::Cluster, Self::Llc, Self::Node, Self::Near, Self::Far];

    /// Name for reports.
    pub fn name(self) -> &'static str {
        ["core", "cluster", "llc", "node", "near", "far"][self as usize]
    }
}

/// Cost that depends on the distance between two CPUs, or between a CPU and memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "GivenByDistance", into = "GivenByDistance")]
pub struct ByDistance {
    /// Same core: the same CPU or its SMT sibling.
    pub core: u32,
    /// Another core of the same cluster; as `llc` where a machine file has no such entry.
    pub cluster: u32,
    /// Another core under the same last-level cache.
    pub llc: u32,
    /// Another last-level cache of the same node; for memory: the node's memory.
    pub node: u32,
    /// Another node of the same socket.
    pub near: u32,
    /// Another socket.
    pub far: u32,
}

impl ByDistance {
    /// Cost at a distance.
    #[inline]
    pub fn at(&self, distance: Distance) -> u64 {
        // A table lookup: branches on random distances are mispredicted.
        let each = [self.core, self.cluster, self.llc, self.node, self.near, self.far];
        each[distance as usize].into()
    }
}

/// [`ByDistance`] as machine files give the cost.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenByDistance {
    core: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<u32>,
    llc: u32,
    node: u32,
    near: u32,
    far: u32,
}

impl From<GivenByDistance> for ByDistance {
    fn from(given: GivenByDistance) -> Self {
        let GivenByDistance { core, cluster, llc, node, near, far } = given;
        Self { core, cluster: cluster.unwrap_or(llc), llc, node, near, far }
    }
}

impl From<ByDistance> for GivenByDistance {
    fn from(cost: ByDistance) -> Self {
        let ByDistance { core, cluster, llc, node, near, far } = cost;
        Self { core, cluster: (cluster != llc).then_some(cluster), llc, node, near, far }
    }
}
