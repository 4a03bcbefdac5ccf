//! Interruptions of CPUs (`schedload noise --parts`) as a timeline: a slice for each gap of a CPU, and in it a slice for each cause.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Deserialize;

use crate::packets;
use crate::schema::{Annotation, TrackEvent};
use crate::sink::{Ns, Sink};

/// A measurement. Causes are indices in `causes`.
#[derive(Debug, Clone, Deserialize)]
pub struct Interruptions {
    /// The machine.
    pub target: String,
    /// Names of the causes.
    pub causes: Vec<String>,
    /// CPUs, with the start of their loops in ns on one clock.
    pub cpus: Vec<(usize, u64)>,
    /// Gaps, in the order of their beginnings on each CPU.
    pub gaps: Vec<Gap>,
}

/// A gap. Times are in ns since the start of the CPU's loop.
#[derive(Debug, Clone, Deserialize)]
pub struct Gap {
    /// CPU.
    pub cpu: usize,
    /// Start.
    pub at_ns: f64,
    /// Length.
    pub length_ns: f64,
    /// Main cause.
    pub main: usize,
    /// Intervals as (cause, start, end), an interval before the intervals inside it.
    pub parts: Vec<(usize, f64, f64)>,
    /// Time outside all intervals as (cause, length).
    pub rest: Vec<(usize, f64)>,
    /// Senders of interrupts as (index in `parts`, sender).
    pub senders: Vec<(usize, String)>,
}

/// Number of the track above the tracks of the CPUs.
const GAPS: u64 = 1;

/// Write a measurement. An error of a cause or CPU that does not exist is `InvalidData`.
pub fn write_interruptions<W: Write>(out: W, interruptions: &Interruptions) -> io::Result<W> {
    let mut sink = Sink::new(out);
    let (target, causes) = (&interruptions.target, &interruptions.causes);
    sink.packet(&packets::about("schedlab noise", target.clone(), target.clone(), None));
    sink.packet(&packets::track_of_cpus(GAPS, "Gaps"));
    let first = interruptions.cpus.iter().map(|(_, start)| *start).min().unwrap_or(0);
    let mut starts = HashMap::new();
    for (cpu, start) in &interruptions.cpus {
        sink.packet(&packets::track_of_cpu(*cpu, GAPS));
        // The names of gaps by main cause follow the names of the causes.
        let gaps = causes.iter().map(|cause| format!("gap: {cause}"));
        sink.packet(&packets::defaults(*cpu, causes.iter().cloned().chain(gaps)));
        starts.insert(*cpu, start - first);
    }
    for gap in &interruptions.gaps {
        let Some(start) = starts.get(&gap.cpu) else { return Err(invalid(format!("CPU {}", gap.cpu))) };
        write_gap(gap, *start, causes, &mut sink)?;
    }
    sink.finish()
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} does not exist in the measurement"))
}

fn write_gap<W: Write>(gap: &Gap, start: Ns, causes: &[String], sink: &mut Sink<W>) -> io::Result<()> {
    let at = |ns: f64| start + ns.max(0.0).round() as Ns;
    let number = |cause: usize| match cause < causes.len() {
        true => Ok(cause as u64 + 1),
        false => Err(invalid(format!("cause {cause}"))),
    };
    let mut write = |at, event| sink.packet(&packets::event(gap.cpu, at, event));
    let begin = |name, debug_annotations| TrackEvent { debug_annotations, ..packets::begin(name) };
    let mut rest = Vec::new();
    for (cause, ns) in &gap.rest {
        number(*cause)?;
        rest.push(Annotation {
            name: Some(format!("{} (ns)", causes[*cause])),
            int_value: Some(ns.round() as i64),
            ..Annotation::default()
        });
    }
    // The end of a part is at most a turn of the loop after the end of the gap.
    let last = gap.parts.iter().map(|(_, _, end)| *end).fold(gap.at_ns + gap.length_ns, f64::max);
    write(at(gap.at_ns), begin(number(gap.main)? + causes.len() as u64, rest));
    let mut open = vec![at(last)];
    for (index, (cause, from, until)) in gap.parts.iter().enumerate() {
        while open.len() > 1 && open.last().is_some_and(|end| *end <= at(*from)) {
            write(open.pop().unwrap_or_default(), packets::end());
        }
        let sender = gap.senders.iter().find(|(part, _)| *part == index).map(|(_, sender)| Annotation {
            name: Some("sent by".to_owned()),
            string_value: Some(sender.clone()),
            ..Annotation::default()
        });
        write(at(*from), begin(number(*cause)?, sender.into_iter().collect()));
        let around = open.last().copied().unwrap_or(Ns::MAX);
        open.push(at(*until).min(around));
    }
    while let Some(until) = open.pop() {
        write(until, packets::end());
    }
    Ok(())
}
