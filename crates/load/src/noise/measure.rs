//! The measurement: a thread of the loop on each CPU, and beside it the records of what the kernel and the hypervisor did.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use nix::sys::mman::{MlockAllFlags, mlockall};

use super::document::Document;
use super::observed::{self, Counters};
use super::spin::{self, Spun};
use super::summary::{self, Sources};
use super::tracing::{self, Instance, RequestInstance};
use super::windows::Sampler;
use super::{document, explained, join, requests, steal, trace};
use crate::error::LoadError;
use crate::launcher::wanted::{cpu_list, duration};
use crate::sys::counter::{self, Pair, Rate};
use crate::sys::{clock, sched, signals};

/// Time of the loop before the measurement, in which it finds its minimum.
const WARM_UP: Duration = Duration::from_millis(50);
/// Pause between two readings of the trace and of the hypervisor's time.
const DRAIN: Duration = Duration::from_millis(100);
/// Multiple of the loop's minimum that an automatic threshold has.
const THRESHOLD_TURNS: u64 = 10;
/// Least automatic threshold: shorter gaps are the processor's own, not interruptions.
const LEAST_THRESHOLD_NS: f64 = 150.0;
/// Gaps per second that the buffer of a CPU has room for, within the limits below.
const GAPS_PER_SECOND: f64 = 20_000.0;
/// Gaps that every buffer has room for.
const LEAST_BUFFER: usize = 100_000;
/// Gaps of the largest buffer: 64 MiB.
const LARGEST_BUFFER: usize = 4 << 20;

/// Measure what interrupts CPUs, for how long, and why. Print one JSON document.
///
/// A loop on each CPU reads the cycle counter; each time that it misses is a gap. A private instance of the kernel's trace
/// (root) names the causes.
#[derive(Debug, Args)]
pub struct Order {
    /// CPUs under test, such as 2-3.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub cpus: Box<[usize]>,
    /// Time of the measurement.
    #[arg(long = "for", value_parser = duration, value_name = "DURATION")]
    pub time: Duration,
    /// Length of a gap in nanoseconds beyond the least time of a turn; auto: ten turns, at least 150 ns.
    #[arg(long, value_parser = threshold, value_name = "auto|NS", default_value = "auto")]
    pub threshold: Threshold,
    /// Run the loop under SCHED_FIFO with this priority.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=99), value_name = "N")]
    pub fifo: Option<u32>,
    /// Measure lengths without a trace of their causes.
    #[arg(long)]
    pub untraced: bool,
    /// Print the parts of all gaps.
    #[arg(long)]
    pub parts: bool,
}

/// Length of a gap beyond the least time of a turn in ns; `None`: chosen from the loop's own minimum.
#[derive(Debug, Clone, Copy)]
pub struct Threshold(Option<f64>);

fn threshold(text: &str) -> Result<Threshold, String> {
    match (text, text.parse::<f64>()) {
        ("auto", _) => Ok(Threshold(None)),
        (_, Ok(ns)) if ns >= 0.0 && ns.is_finite() => Ok(Threshold(Some(ns))),
        _ => Err(format!("'{text}' is neither auto nor a number of nanoseconds")),
    }
}

/// Result of a thread of the loop.
struct Found {
    pair: Pair,
    thread: i32,
    threshold: u64,
    spun: Spun,
}

/// Measure, with a private instance of the trace, or the reason why there is none.
pub(super) fn measure(
    order: &Order,
    instance: Result<(String, Vec<String>), String>,
) -> Result<Document, LoadError> {
    let seconds = order.time.as_secs_f64();
    let allowed = sched::affinity()?;
    // An isolated CPU is not among the usual CPUs of a process, but may be used.
    for cpu in &order.cpus {
        let refusal = |error| {
            let text = "it is offline or does not exist, or the cpuset of this process lacks it";
            LoadError::Usage(format!("CPU {cpu} cannot be used ({error}): {text}; usable CPUs: {allowed:?}"))
        };
        sched::set_affinity(&[*cpu]).map_err(refusal)?;
    }
    sched::set_affinity(&allowed)?;
    let others: Vec<usize> = allowed.into_iter().filter(|cpu| !order.cpus.contains(cpu)).collect();
    let is_drained = !others.is_empty();
    if is_drained {
        sched::set_affinity(&others)?;
    }
    let mut tracing = document::Tracing::default();
    let mut requests = None;
    let mut recorder = match instance {
        Ok((name, removed)) => {
            tracing.removed = removed;
            match RequestInstance::create(&name, &order.cpus, seconds, is_drained) {
                Ok(recorder) => requests = Some(recorder),
                Err(error) => tracing.no_senders = Some(error.to_string()),
            }
            match Instance::create(&name, &order.cpus, seconds, is_drained) {
                Ok(recorder) => Some(recorder),
                Err(error) => {
                    tracing.reason = Some(format!("the kernel refused a trace instance: {error}"));
                    None
                }
            }
        }
        Err(reason) => {
            tracing.reason = Some(reason);
            None
        }
    };
    let room = ((seconds * GAPS_PER_SECOND) as usize).clamp(LEAST_BUFFER, LARGEST_BUFFER);
    let buffers: Vec<_> = order.cpus.iter().map(|_| spin::buffer(room)).collect();
    let memory_locked = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok();
    let first = Pair::take();
    clock::sleep_ns(WARM_UP.as_nanos() as u64 / 2);
    let coarse = Rate::between(first, Pair::take());

    let mut before = Counters::read(&order.cpus);
    let firmware: Vec<_> = order.cpus.iter().map(|cpu| observed::firmware_interrupts(*cpu)).collect();
    let mut steal = vec![steal::Sample::take(&order.cpus)];
    let mut sampler = (recorder.is_none() && is_drained).then(|| Sampler::new(&order.cpus, seconds));
    let (stop, finished) = (AtomicBool::new(false), AtomicU64::new(0));
    // The threads start together, when each has warmed up.
    let begin = counter::read() + coarse.counts(2.0 * WARM_UP.as_nanos() as f64);
    let time = coarse.counts(order.time.as_nanos() as f64);
    let found: Vec<Result<Found, LoadError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = order
            .cpus
            .iter()
            .zip(buffers)
            .map(|(cpu, buffer)| {
                let (stop, finished) = (&stop, &finished);
                scope.spawn(move || {
                    let found = spin_on(*cpu, order, coarse, (begin, time), stop, buffer);
                    finished.fetch_add(1, Ordering::Relaxed);
                    found
                })
            })
            .collect();
        if is_drained {
            // The counters are those of the loop. Without another CPU, reading them now would be an interruption.
            std::thread::sleep(Duration::from_nanos(coarse.ns(begin.saturating_sub(counter::read())) as u64));
            before = Counters::read(&order.cpus);
        }
        while finished.load(Ordering::Relaxed) < threads.len() as u64 {
            if signals::requested().is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            let left = Duration::from_nanos(coarse.ns((begin + time).saturating_sub(counter::read())) as u64);
            // On a CPU under test this thread would be an interruption.
            let pause = match is_drained {
                true => left.clamp(DRAIN / 100, DRAIN),
                false => left.clamp(DRAIN / 10, Duration::from_secs(1)),
            };
            std::thread::sleep(pause);
            if is_drained {
                recorder.as_mut().map(Instance::drain);
                requests.as_mut().map(RequestInstance::drain);
                if let Some(sampler) = sampler.as_mut() {
                    sampler.sample(coarse);
                }
                steal.push(steal::Sample::take(&order.cpus));
            }
        }
        threads.into_iter().map(|thread| thread.join().expect("the loop does not panic")).collect()
    });
    steal.push(steal::Sample::take(&order.cpus));
    let counters = Counters::read(&order.cpus).since(&before);
    let last = Pair::take();
    if let Some(signal) = signals::requested() {
        return Err(LoadError::Interrupted(signal));
    }
    let rate = Rate::between(first, last);
    let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    let error_ns = rate.ns(first.width + last.width) / 2.0;
    let events = match recorder {
        None => Vec::new(),
        Some(recorder) => {
            tracing.traced = true;
            tracing.clock = Some(recorder.clock.name());
            tracing.error_ns = recorder.clock.error_ns(error_ns);
            tracing.events.clone_from(&recorder.events);
            recorder.finish(first, rate)?
        }
    };
    let (requested, senders) = match requests {
        Some(requests) if tracing.traced => {
            let (requests, senders, lost) = requests.finish()?;
            tracing.requests = Some(requests.len() as u64);
            tracing.requests_lost = lost;
            (requests, senders)
        }
        _ => (Vec::new(), Vec::new()),
    };
    let jumps = steal::jumps(&steal.iter().map(|each| each.pair).collect::<Vec<_>>());
    let mut cpus = Vec::new();
    let mut all = Vec::new();
    for (at, (cpu, found)) in order.cpus.iter().zip(&found).enumerate() {
        let (_, recorded, lost) = match events.iter().find(|(traced, ..)| traced == cpu) {
            Some((cpu, recorded, lost)) => (*cpu, recorded.as_slice(), *lost),
            None => (*cpu, [].as_slice(), 0),
        };
        let spun = &found.spun;
        tracing.recorded += recorded.len() as u64;
        tracing.lost += lost;
        let answered = answered(&requested, *cpu, recorded, first, rate, tracing.error_ns);
        let mut joined = join::join(&spun.gaps, spun.minimum, recorded, &answered, found.thread, rate.per_ns);
        for (reason, count) in std::mem::take(&mut joined.tick_stops) {
            *tracing.tick_stops.entry(reason).or_default() += count;
        }
        let stolen: Vec<(u64, u64)> = steal.iter().map(|each| (each.pair.count, each.ticks[at])).collect();
        let steal_ns = steal::stolen_ns(&stolen);
        // Without a trace the slices of other tasks are unexplained, too.
        if tracing.traced {
            steal::attribute_jumps(&mut joined.gaps, &jumps);
            steal::attribute(&mut joined.gaps, &stolen, rate);
        }
        let smi =
            observed::firmware_interrupts(*cpu).zip(firmware[at]).map(|(now, then)| now.wrapping_sub(then));
        if let Some(count) = smi.filter(|_| tracing.traced) {
            join::attribute(&mut joined.gaps, explained::HARDWARE, u64::MAX, count as usize, |_| true);
        }
        let lengths: Vec<u64> = joined.gaps.iter().map(|gap| gap.length).collect();
        cpus.push(document::Cpu {
            cpu: *cpu,
            start_ns: found.pair.raw_ns + rate.ns(spun.start.saturating_sub(found.pair.count)) as u64,
            seconds: rate.ns(spun.end - spun.start) / 1e9,
            turns: spun.turns,
            minimum_cycles: spun.minimum,
            minimum_ns: rate.ns(spun.minimum),
            threshold_ns: rate.ns(found.threshold),
            gaps: spun.count,
            lost: spun.count - spun.gaps.len() as u64,
            worst_ns: rate.ns(spun.worst),
            p999_ns: rate.ns(summary::quantile(&lengths, 0.999)),
            stolen_ns: rate.ns(spun.stolen),
            steal_ns,
            firmware_interrupts: smi,
            usual_entry_ns: rate.ns(joined.usual),
            histogram: summary::histogram(&lengths, rate),
        });
        all.push(explained::Gaps { cpu: *cpu, start: spun.start, end: spun.end, gaps: joined.gaps });
    }
    let seconds_of_all = cpus.iter().map(|cpu| cpu.seconds).sum();
    let causes = summary::causes(&all, rate, seconds_of_all);
    let sources = Sources { requests: &requested, senders: &senders };
    let (timeline, timeline_is_complete) = summary::timeline(&all, &causes, rate);
    Ok(Document {
        schema: document::SCHEMA,
        seconds,
        fifo: order.fifo,
        memory_locked,
        counter: document::Counter {
            name: counter::NAME,
            hz: rate.per_ns * 1e9,
            invariant: counter::is_invariant(),
            error_ns,
            difference_ns: difference_ns(&found, rate),
            jumps: jumps.len(),
        },
        tracing,
        cpus,
        worst: summary::worst(&all, &sources, rate),
        senders: sources.table(&all, seconds_of_all),
        gaps: order.parts.then(|| summary::gaps(&all, &causes, &sources, rate)),
        windows: sampler.map(|sampler| sampler.finish(&all, rate)),
        causes,
        timeline,
        timeline_is_complete,
        counters,
    })
}

/// The requests that the interrupts of a CPU answer, by the place of the interrupt's event.
fn answered(
    requests: &[requests::Request],
    cpu: usize,
    events: &[trace::Event],
    pair: Pair,
    rate: Rate,
    error_ns: f64,
) -> HashMap<usize, usize> {
    let of_cpu = requests.iter().enumerate().filter(|(_, request)| request.targets.contains(&cpu));
    let mut sent: Vec<_> = of_cpu
        .map(|(at, request)| (tracing::count_at(request.time, pair, rate), request.wanted, at))
        .collect();
    sent.sort_by_key(|(count, _, at)| (*count, *at));
    requests::answers(events, &sent, rate.counts(error_ns))
}

/// The thread of one CPU: pin, warm up, wait for the common start, and measure.
fn spin_on(
    cpu: usize,
    order: &Order,
    coarse: Rate,
    (begin, time): (u64, u64),
    stop: &AtomicBool,
    buffer: Vec<spin::Gap>,
) -> Result<Found, LoadError> {
    sched::set_affinity(&[cpu]).map_err(LoadError::system(format!("running on CPU {cpu}")))?;
    if let Some(priority) = order.fifo {
        sched::become_fifo(priority)
            .map_err(LoadError::system(format!("SCHED_FIFO with priority {priority}")))?;
    }
    let pair = Pair::take();
    // A thread that begins late, on a busy CPU, warms up nevertheless.
    let start = counter::read();
    let begin = begin.max(start + coarse.counts(WARM_UP.as_nanos() as f64));
    let warm = spin::spin(start, begin, u64::MAX, 0, stop, Vec::new());
    let threshold = match order.threshold.0 {
        Some(ns) => coarse.counts(ns),
        None => (THRESHOLD_TURNS * warm.minimum).max(coarse.counts(LEAST_THRESHOLD_NS)),
    };
    // An interruption at the beginning is a gap, and shortens no measurement.
    let spun = spin::spin(warm.end, warm.end + time, warm.minimum, threshold, stop, buffer);
    Ok(Found { pair, thread: nix::unistd::gettid().as_raw(), threshold, spun })
}

/// The largest difference between the counters of two CPUs at one instant of CLOCK_MONOTONIC_RAW; `None` if each CPU computes
/// this clock from its own counter. The kernel itself then has found the counters synchronised.
fn difference_ns(found: &[Found], rate: Rate) -> Option<f64> {
    if counter::is_clock_source() {
        return None;
    }
    let (first, rest) = found.split_first()?;
    let offset = |pair: Pair| {
        let elapsed = pair.raw_ns as f64 - first.pair.raw_ns as f64;
        (pair.count as f64 - first.pair.count as f64) / rate.per_ns - elapsed
    };
    let offsets: Vec<f64> = std::iter::once(0.0).chain(rest.iter().map(|found| offset(found.pair))).collect();
    let least = offsets.iter().copied().fold(f64::INFINITY, f64::min);
    let most = offsets.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (!rest.is_empty()).then_some(most - least)
}
