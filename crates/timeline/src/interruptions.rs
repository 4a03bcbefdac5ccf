//! Interruptions of CPUs (`schedload noise --parts`) as a timeline: a slice for each gap of a CPU, and in it a slice for each cause.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Deserialize;

use crate::schema::{
    Annotation, BEGIN, BY_RANK, CLEARED, Data, Defaults, END, EventName, InternedData, NEEDED, Packet,
    SystemInfo, TrackDescriptor, TrackEvent, TrackEventDefaults, Utsname,
};
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

/// Number of the track above the tracks of the CPUs, and of the first CPU's track.
const GAPS: u64 = 1;
const CPUS: u64 = 16;

/// Number of the packet sequence that belongs to no CPU. The sequences of the CPUs follow.
const GENERAL: u32 = 1;

/// Write a measurement. An error of a cause or CPU that does not exist is `InvalidData`.
pub fn write_interruptions<W: Write>(out: W, interruptions: &Interruptions) -> io::Result<W> {
    let mut sink = Sink::new(out);
    sink.packet(&about(&interruptions.target));
    let descriptor = |descriptor| Packet {
        trusted_packet_sequence_id: Some(GENERAL),
        data: Some(Data::TrackDescriptor(descriptor)),
        ..Packet::default()
    };
    let name = Some("Gaps".to_owned());
    let gaps =
        TrackDescriptor { uuid: Some(GAPS), name, child_ordering: Some(BY_RANK), ..Default::default() };
    sink.packet(&descriptor(gaps));
    let first = interruptions.cpus.iter().map(|(_, start)| *start).min().unwrap_or(0);
    let mut starts = HashMap::new();
    for (cpu, start) in &interruptions.cpus {
        sink.packet(&descriptor(TrackDescriptor {
            uuid: Some(CPUS + *cpu as u64),
            name: Some(format!("CPU {cpu}")),
            parent_uuid: Some(GAPS),
            sibling_order_rank: Some(*cpu as i32),
            ..Default::default()
        }));
        sink.packet(&names(*cpu, &interruptions.causes));
        starts.insert(*cpu, start - first);
    }
    for gap in &interruptions.gaps {
        let Some(start) = starts.get(&gap.cpu) else { return Err(invalid(format!("CPU {}", gap.cpu))) };
        write_gap(gap, *start, &interruptions.causes, &mut sink)?;
    }
    sink.finish()
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} does not exist in the measurement"))
}

fn about(target: &str) -> Packet {
    let utsname = Utsname {
        sysname: Some("schedlab noise".to_owned()),
        version: Some(format!("schedlab {}", env!("CARGO_PKG_VERSION"))),
        release: Some(target.to_owned()),
        machine: Some(target.to_owned()),
    };
    let info = SystemInfo { utsname: Some(utsname), num_cpus: None };
    Packet { data: Some(Data::SystemInfo(info)), ..Packet::default() }
}

fn sequence(cpu: usize) -> u32 {
    GENERAL + 1 + cpu as u32
}

/// The packet with the defaults of a CPU's packets: its track, and the names of causes and of gaps by main cause.
fn names(cpu: usize, causes: &[String]) -> Packet {
    let gaps = causes.iter().map(|cause| format!("gap: {cause}"));
    let event_names = causes
        .iter()
        .cloned()
        .chain(gaps)
        .zip(1..)
        .map(|(name, iid)| EventName { iid: Some(iid), name: Some(name) })
        .collect();
    Packet {
        trusted_packet_sequence_id: Some(sequence(cpu)),
        sequence_flags: Some(CLEARED),
        interned_data: Some(InternedData { event_names }),
        trace_packet_defaults: Some(Defaults {
            track_event_defaults: Some(TrackEventDefaults { track_uuid: Some(CPUS + cpu as u64) }),
        }),
        ..Packet::default()
    }
}

fn write_gap<W: Write>(gap: &Gap, start: Ns, causes: &[String], sink: &mut Sink<W>) -> io::Result<()> {
    let at = |ns: f64| start + ns.max(0.0).round() as Ns;
    let number = |cause: usize| match cause < causes.len() {
        true => Ok(cause as u64 + 1),
        false => Err(invalid(format!("cause {cause}"))),
    };
    let mut write = |timestamp, event| {
        sink.packet(&Packet {
            timestamp: Some(timestamp),
            sequence_flags: Some(NEEDED),
            trusted_packet_sequence_id: Some(sequence(gap.cpu)),
            data: Some(Data::TrackEvent(event)),
            ..Packet::default()
        });
    };
    let begin = |name_iid, debug_annotations| TrackEvent {
        r#type: Some(BEGIN),
        name_iid: Some(name_iid),
        debug_annotations,
        ..TrackEvent::default()
    };
    let end = || TrackEvent { r#type: Some(END), ..TrackEvent::default() };
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
            write(open.pop().unwrap_or_default(), end());
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
        write(until, end());
    }
    Ok(())
}
