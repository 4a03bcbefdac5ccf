//! Which CPU a balancing pass takes tasks from, and how much: by the types of groups (kernel/sched/fair.c, v5.5 to v6.12), or with
//! the rules of `find_busiest_by_load` by their loads.
//!
//! Limits: cores with several tasks do not rank before fully busy groups (`group_smt_balance`, since 6.6), and utilisation decides
//! between overloaded queues without the number of their tasks (`cpu_util_cfs_boost()`, since 6.5).

use super::groups::{GroupStats, GroupType};
use super::load_balance::{Balanced, CpuIdleType, Imbalance};
use super::sched_domains::{SchedDomain, SchedGroup};
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::{GroupComparison, NumaImbalance};
use crate::machine::DomainKind;
use crate::observe::Observer;
use crate::sched::weight::UNIT;

/// What a pass compares: the group of its CPU and the busiest other group (`struct sd_lb_stats`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    pub local: GroupStats,
    pub busiest: GroupStats,
    /// Load per CPU of the domain, times 1024.
    pub mean: u64,
    /// Average utilisation of the local group, of [`UNIT`] for each CPU; needed only if the group takes utilisation.
    pub local_util: u64,
    /// Groups of the domain spread their tasks evenly, see [`Engine::prefer_sibling`].
    pub prefer_sibling: bool,
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Find the CPU to take tasks from, and how much to take (`find_busiest_group()` and `find_busiest_queue()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    pub(super) fn find_busiest(
        &self,
        cpu: usize,
        level: usize,
        idle: CpuIdleType,
    ) -> Result<(usize, Imbalance), Balanced> {
        let domain = self.balance.domains.domain(cpu, level);
        let by_load = self.world.kernel.domains.group_comparison == GroupComparison::Load;
        if domain.single_cpu_groups && !by_load {
            return self.find_busiest_cpu_by_type(cpu, domain, idle).ok_or(Balanced::Groups);
        }
        let (group, imbalance) = self.find_busiest_group(cpu, level, idle).ok_or(Balanced::Groups)?;
        let source = self.find_busiest_queue(group, domain.kind, imbalance).ok_or(Balanced::Queues)?;
        Ok((source, imbalance))
    }

    /// Find the group to take tasks from, and how much to take; `None` if the domain is balanced (`find_busiest_group()`).
    fn find_busiest_group(
        &self,
        cpu: usize,
        level: usize,
        idle: CpuIdleType,
    ) -> Option<(&SchedGroup, Imbalance)> {
        let domain = self.balance.domains.domain(cpu, level);
        let by_load = self.world.kernel.domains.group_comparison == GroupComparison::Load;
        let groups = &domain.groups;
        let local_index = groups.iter().position(|group| group.span.contains(cpu))?;
        let local = self.group_stats(&groups[local_index], domain.kind);
        let prefer_sibling = self.prefer_sibling(cpu, level);
        let mut all = local.sum;
        let mut busiest: Option<(usize, GroupStats)> = None;
        for index in domain.after(local_index) {
            let mut stats = self.group_stats(&groups[index], domain.kind);
            all.add(&stats.sum);
            let busier = if by_load {
                stats.mark_overloaded(&local, prefer_sibling);
                busiest.is_none_or(|(_, busiest)| stats.is_busier_by_load(&busiest))
            } else {
                stats.sum.number > 0 && busiest.is_none_or(|(_, busiest)| stats.is_busier(&busiest))
            };
            if busier {
                busiest = Some((index, stats));
            }
        }
        let (index, busiest) = busiest?;
        let imbalance = if by_load {
            self.load_imbalance(domain, &local, &busiest, all.per_cpu(), idle)?
        } else {
            let local_cpus = groups[local_index].cpus.iter().map(|cpu| usize::from(*cpu));
            let takes_util = takes_util(domain, &local, &busiest);
            let local_util = if takes_util { self.averages(local_cpus).util } else { 0 };
            let compared = Comparison { local, busiest, mean: all.per_cpu(), local_util, prefer_sibling };
            self.find_imbalance(domain, &compared, idle)?
        };
        Some((&groups[index], imbalance))
    }

    /// Whether the groups of a domain spread their tasks evenly (`SD_PREFER_SIBLING` of the next narrower domain): unless that is a
    /// NUMA domain. In 4.5 if that is a core or a node, or a cache that is all of a node (`sd_init()` and `cpu_attach_domain()`,
    /// kernel/sched/topology.c).
    pub(super) fn prefer_sibling(&self, cpu: usize, level: usize) -> bool {
        let Some(below) = level.checked_sub(1) else { return false };
        let [kind, below] = [level, below].map(|level| self.balance.domains.domain(cpu, level).kind);
        match (self.world.kernel.domains.group_comparison, below) {
            (GroupComparison::Load, DomainKind::Cache) => matches!(kind, DomainKind::Numa(_)),
            (_, below) => !matches!(below, DomainKind::Numa(_)),
        }
    }

    /// As [`Engine::find_busiest`] for groups of a single CPU, by their types.
    fn find_busiest_cpu_by_type(
        &self,
        cpu: usize,
        domain: &SchedDomain,
        idle: CpuIdleType,
    ) -> Option<(usize, Imbalance)> {
        let stats = |cpu: usize| {
            let sum = self.sum_of_cpu(cpu);
            self.classify(sum, &self.averages_of(&sum, std::iter::once(cpu)), domain.kind)
        };
        // Only CPUs with a waiting task give a task away. Of equally busy CPUs the next after this CPU does.
        let mut busiest: Option<(usize, GroupStats)> = None;
        for after in [true, false] {
            domain.span.each_common(&self.rq.overloaded, |other| {
                if other != cpu && (other > cpu) == after {
                    let stats = stats(other);
                    if busiest.is_none_or(|(_, busiest)| stats.is_busier(&busiest)) {
                        busiest = Some((other, stats));
                    }
                }
            });
        }
        let (source, busiest) = busiest?;
        // A CPU that its single task keeps busy ranks before a short queue, and keeps its task.
        let single = domain.span.mask().without(&self.rq.overloaded).without(&self.rq.idle);
        if busiest.kind == GroupType::HasSpare
            && single.iter().any(|other| other != cpu && stats(other).kind == GroupType::FullyBusy)
        {
            return None;
        }
        let local = stats(cpu);
        let loads = || domain.ranges.iter().flat_map(|range| self.rq.loads.part(range.clone())).sum::<u64>();
        let comparison = Comparison {
            local,
            busiest,
            mean: if local.kind == GroupType::HasSpare {
                0
            } else {
                loads() * 1024 / u64::from(domain.weight)
            },
            local_util: self.rq.util(cpu),
            prefer_sibling: false,
        };
        Some((source, self.find_imbalance(domain, &comparison, idle)?))
    }

    /// How much to take from the busiest group; `None` if the groups are balanced (end of `find_busiest_group()`).
    fn find_imbalance(
        &self,
        domain: &SchedDomain,
        groups: &Comparison,
        idle: CpuIdleType,
    ) -> Option<Imbalance> {
        let (local, busiest) = (&groups.local, &groups.busiest);
        let (here, there) = (local.sum.per_cpu(), busiest.sum.per_cpu());
        let pct = u64::from(self.imbalance_pct(domain.kind));
        if local.kind > busiest.kind || local.kind == GroupType::Overloaded && 100 * there <= pct * here {
            return None;
        }
        // A busy CPU takes tasks only of overloaded groups (sibling_imbalance(), since 6.6).
        let may_spread = idle != CpuIdleType::Busy || !self.world.kernel.domains.idle_cpus_spread;
        let spreads = groups.prefer_sibling
            && may_spread
            && local.kind == GroupType::HasSpare
            && busiest.sum.number > local.sum.number + 1;
        if busiest.kind != GroupType::Overloaded && !spreads {
            let even = busiest.sum.width > 1 && local.sum.idle <= busiest.sum.idle + 1;
            if idle == CpuIdleType::Busy || even || busiest.sum.number == 1 {
                return None;
            }
        }
        if local.kind == GroupType::HasSpare {
            let imbalance = self.imbalance_of_spare(domain, groups, idle)?;
            let even = matches!(imbalance, Imbalance::Tasks(_)) && !may_spread;
            return (!even).then_some(imbalance);
        }
        // The kernel computes no load of groups that are not overloaded.
        if busiest.kind != GroupType::Overloaded || here >= there || here >= groups.mean {
            return None;
        }
        // Groups that are not overloaded may have more load than the busiest overloaded group. The kernel's subtraction then
        // wraps, and the local group's room decides.
        let room = (groups.mean - here) * local.sum.width;
        let surplus = there.checked_sub(groups.mean).map(|surplus| surplus * busiest.sum.width);
        let load = surplus.map_or(room, |surplus| surplus.min(room)) / 1024;
        (load > 0).then_some(Imbalance::Load(load))
    }

    /// How much a local group with spare capacity takes (`calculate_imbalance()`).
    fn imbalance_of_spare(
        &self,
        domain: &SchedDomain,
        groups: &Comparison,
        idle: CpuIdleType,
    ) -> Option<Imbalance> {
        let (local, busiest) = (&groups.local.sum, &groups.busiest.sum);
        if takes_util(domain, &groups.local, &groups.busiest) {
            return match (local.width * UNIT).saturating_sub(groups.local_util) {
                0 => (idle != CpuIdleType::Busy).then_some(Imbalance::Tasks(1)),
                room => Some(Imbalance::Util(room)),
            };
        }
        let difference = if busiest.width == 1 || groups.prefer_sibling {
            busiest.number.saturating_sub(local.number)
        } else {
            local.idle.saturating_sub(busiest.idle)
        };
        let tasks = difference / 2;
        // A few communicating tasks may stay on a node (adjust_numa_imbalance(), kernel/sched/fair.c, v5.10, v5.14 and v6.1).
        let allowed = self.world.kernel.domains.numa_imbalance;
        let stays = matches!(domain.kind, DomainKind::Numa(_))
            && if allowed == NumaImbalance::Caches {
                allowed.allows(difference, local.number + 1, local.width, domain.numa_limit)
            } else {
                allowed.allows(tasks, busiest.number, busiest.width, 0)
            };
        (tasks > 0 && !stays).then_some(Imbalance::Tasks(tasks))
    }

    /// Return the busiest CPU of a group that has a task to move, the first on a tie (`find_busiest_queue()`). See
    /// [`Engine::worst_placed`].
    pub(super) fn find_busiest_queue(
        &self,
        group: &SchedGroup,
        kind: DomainKind,
        imbalance: Imbalance,
    ) -> Option<usize> {
        let (mut most, mut source) = (0, None);
        for cpu in self.worst_placed(group, kind) {
            let (running, load) = (self.rq.nr_running[cpu], self.rq.loads[cpu]);
            let rank = match imbalance {
                Imbalance::Tasks(_) => u64::from(running),
                // A single task that is heavier than the imbalance would only move the imbalance.
                Imbalance::Load(imbalance) if running > 1 || (running == 1 && load <= imbalance) => load,
                Imbalance::Util(_) if running > 1 => self.rq.util(cpu),
                Imbalance::Load(_) | Imbalance::Util(_) => 0,
            };
            if rank > most {
                (most, source) = (rank, Some(cpu));
            }
        }
        source
    }
}

/// Whether a pass fills the spare capacity of the local group, from an overloaded group in a domain without a common cache
/// (`migrate_util`).
fn takes_util(domain: &SchedDomain, local: &GroupStats, busiest: &GroupStats) -> bool {
    let shares_cache = matches!(domain.kind, DomainKind::Smt | DomainKind::Cluster | DomainKind::Cache);
    local.kind == GroupType::HasSpare && busiest.kind == GroupType::Overloaded && !shares_cache
}

#[cfg(test)]
#[path = "../../tests/unit/balance/find_busiest.rs"]
mod tests;
