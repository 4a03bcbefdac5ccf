//! The tables of a measurement.

use std::collections::BTreeMap;

use super::document::{Cause, From, Gap, Piece, SenderRow, Worst};
use super::explained::{ENTRY, Explained, Gaps, HARDWARE, HYPERVISOR, Part, UNEXPLAINED};
use super::requests::{Request, Sender, is_requested};
use crate::sys::counter::Rate;

/// Longest gaps with their parts.
const WORST: usize = 10;
/// Gaps of the time line; the longest remain.
const TIMELINE: usize = 50_000;
/// Classes of the histogram in each doubling of the length.
const CLASSES_PER_DOUBLING: f64 = 4.0;

#[derive(Debug, Default)]
struct Totals {
    count: u64,
    own: u64,
    worst: u64,
    inclusive: u64,
    inclusive_worst: u64,
}

impl Totals {
    fn add(&mut self, own: u64, inclusive: u64) {
        self.count += 1;
        self.own += own;
        self.worst = self.worst.max(own);
        self.inclusive += inclusive;
        self.inclusive_worst = self.inclusive_worst.max(inclusive);
    }
}

/// Requests of other CPUs, and their senders.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Requests.
    pub requests: &'a [Request],
    /// Senders by their index in a request.
    pub senders: &'a [Sender],
}

impl Sources<'_> {
    fn of(&self, part: &Part) -> Option<&Sender> {
        Some(&self.senders[self.requests[part.request?].sender])
    }

    /// Where the interrupts in gaps came from. Empty if no request was recorded at all.
    pub fn table(&self, all: &[Gaps], seconds: f64) -> Vec<SenderRow> {
        // Interrupt, task and function; the two are empty without a request.
        let mut rows: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
        let parts = all.iter().flat_map(|cpu| &cpu.gaps).flat_map(|gap| &gap.parts);
        for part in parts.filter(|part| is_requested(&part.name) && !self.senders.is_empty()) {
            let (task, function) =
                self.of(part).map_or(("", ""), |sender| (sender.task.as_str(), sender.function()));
            *rows.entry((&part.name, task, function)).or_default() += 1;
        }
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut rows: Vec<SenderRow> = rows
            .into_iter()
            .map(|((interrupt, task, function), count)| SenderRow {
                interrupt: interrupt.to_owned(),
                task: some(task),
                function: some(function),
                count,
                rate: count as f64 / seconds,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }
}

/// The table of causes: totals over all CPUs, which together ran for `seconds`.
pub fn causes(all: &[Gaps], rate: Rate, seconds: f64) -> Vec<Cause> {
    let mut totals: BTreeMap<&str, Totals> = BTreeMap::new();
    for cpu in all {
        // Own and inclusive time of each occurrence. An attributed cause may contain several occurrences of one name.
        let mut occurrences: BTreeMap<(&str, u64), (u64, u64)> = BTreeMap::new();
        for gap in &cpu.gaps {
            for (at, part) in gap.parts.iter().enumerate() {
                let (own, inclusive) = occurrences.entry((&part.name, part.occurrence)).or_default();
                *own += part.own;
                *inclusive += gap.inclusive(at);
            }
        }
        for ((name, _), (own, inclusive)) in occurrences {
            totals.entry(name).or_default().add(own, inclusive);
        }
    }
    let sum: u64 = totals.values().map(|totals| totals.own).sum();
    let mut causes: Vec<Cause> = totals
        .into_iter()
        .map(|(name, totals)| Cause {
            name: name.to_owned(),
            count: totals.count,
            rate: totals.count as f64 / seconds,
            worst_ns: rate.ns(totals.worst),
            total_ns: rate.ns(totals.own),
            inclusive_worst_ns: rate.ns(totals.inclusive_worst),
            inclusive_total_ns: rate.ns(totals.inclusive),
            share: if sum == 0 { 0.0 } else { totals.own as f64 / sum as f64 },
        })
        .collect();
    // Among causes with equal times, causes outside the kernel come last; the others are in the order of their names.
    let is_rest = |cause: &Cause| [ENTRY, HARDWARE, HYPERVISOR, UNEXPLAINED].contains(&cause.name.as_str());
    causes.sort_by(|one, other| {
        let order = other.total_ns.total_cmp(&one.total_ns);
        order.then_with(|| is_rest(one).cmp(&is_rest(other))).then_with(|| one.name.cmp(&other.name))
    });
    causes
}

/// The longest gaps of all CPUs.
pub fn worst(all: &[Gaps], sources: &Sources<'_>, rate: Rate) -> Vec<Worst> {
    let mut order: Vec<(&Gaps, &Explained)> =
        all.iter().flat_map(|cpu| cpu.gaps.iter().map(move |gap| (cpu, gap))).collect();
    order.sort_by_key(|(cpu, gap)| (std::cmp::Reverse(gap.length), cpu.cpu, gap.start));
    order.truncate(WORST);
    let show = |(cpu, gap): (&Gaps, &Explained)| Worst {
        cpu: cpu.cpu,
        at_ns: rate.ns(gap.start - cpu.start) as u64,
        length_ns: rate.ns(gap.length),
        parts: (0..gap.parts.len())
            .filter(|at| gap.parts[*at].own > 0)
            .map(|at| piece(gap, at, sources, rate))
            .collect(),
    };
    order.into_iter().map(show).collect()
}

fn piece(gap: &Explained, at: usize, sources: &Sources<'_>, rate: Rate) -> Piece {
    let part = &gap.parts[at];
    let mut within = Vec::new();
    let mut around = part.within;
    while let Some(outer) = around {
        within.insert(0, gap.parts[outer].name.clone());
        around = gap.parts[outer].within;
    }
    let sender = sources.of(part).map(|sender| From {
        task: sender.task.clone(),
        cpu: sender.cpu,
        function: sender.function().to_owned(),
        callsite: sender.callsite.clone(),
        stack: sender.stack.clone(),
    });
    Piece { name: part.name.clone(), ns: rate.ns(part.own), within, woken_in: part.woken_in.clone(), sender }
}

/// The longest gaps with their parts, in order of CPU and time.
pub fn gaps(all: &[Gaps], causes: &[Cause], sources: &Sources<'_>, rate: Rate) -> Vec<Gap> {
    let places = places(causes);
    let mut order: Vec<(&Gaps, &Explained)> =
        all.iter().flat_map(|cpu| cpu.gaps.iter().map(move |gap| (cpu, gap))).collect();
    order.sort_by_key(|(_, gap)| std::cmp::Reverse(gap.length));
    order.truncate(TIMELINE);
    order.sort_by_key(|(cpu, gap)| (cpu.cpu, gap.start));
    order.into_iter().map(|(cpu, gap)| shown(cpu, gap, &places, sources, rate)).collect()
}

fn places(causes: &[Cause]) -> BTreeMap<&str, usize> {
    causes.iter().enumerate().map(|(at, cause)| (cause.name.as_str(), at)).collect()
}

fn shown(
    cpu: &Gaps,
    gap: &Explained,
    places: &BTreeMap<&str, usize>,
    sources: &Sources<'_>,
    rate: Rate,
) -> Gap {
    let place = |name: &str| places.get(name).copied().unwrap_or_default();
    let since = |count: u64| rate.ns(count.saturating_sub(cpu.start));
    let (mut parts, mut rest, mut senders) = (Vec::new(), Vec::new(), Vec::new());
    for part in &gap.parts {
        let Some((begin, end)) = part.span else {
            rest.push((place(&part.name), rate.ns(part.own)));
            continue;
        };
        if let Some(sender) = sources.of(part) {
            senders.push((
                parts.len(),
                format!("{} on CPU {} in {}", sender.task, sender.cpu, sender.function()),
            ));
        }
        parts.push((place(&part.name), since(begin), since(end)));
    }
    let (at_ns, length_ns) = (since(gap.start), rate.ns(gap.length));
    Gap { cpu: cpu.cpu, at_ns, length_ns, main: place(gap.main()), parts, rest, senders }
}

/// The time line, and whether it is complete.
pub fn timeline(all: &[Gaps], causes: &[Cause], rate: Rate) -> (Vec<(usize, u64, u64, usize)>, bool) {
    let places = places(causes);
    let mut points: Vec<(usize, u64, u64, usize)> = Vec::new();
    for cpu in all {
        points.extend(cpu.gaps.iter().map(|gap| {
            let at = rate.ns(gap.start - cpu.start) as u64;
            (cpu.cpu, at, rate.ns(gap.length) as u64, places.get(gap.main()).copied().unwrap_or_default())
        }));
    }
    let is_complete = points.len() <= TIMELINE;
    if !is_complete {
        points.sort_by_key(|point| std::cmp::Reverse(point.2));
        points.truncate(TIMELINE);
        points.sort_unstable();
    }
    (points, is_complete)
}

/// Number of lengths in classes whose limits grow by a constant factor.
pub fn histogram(lengths: &[u64], rate: Rate) -> Vec<(f64, u64, u64)> {
    let mut classes: BTreeMap<i32, u64> = BTreeMap::new();
    for length in lengths {
        let class = ((*length).max(1) as f64).log2() * CLASSES_PER_DOUBLING;
        *classes.entry(class.floor() as i32).or_default() += 1;
    }
    let least = |class: i32| (f64::from(class) / CLASSES_PER_DOUBLING).exp2();
    classes
        .into_iter()
        .map(|(class, count)| (least(class) / rate.per_ns, least(class).ceil() as u64, count))
        .collect()
}

/// The least length that `share` of the lengths do not exceed; 0 without lengths.
pub fn quantile(lengths: &[u64], share: f64) -> u64 {
    if lengths.is_empty() {
        return 0;
    }
    let mut sorted = lengths.to_vec();
    let rank = ((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
    *sorted.select_nth_unstable(rank - 1).1
}
