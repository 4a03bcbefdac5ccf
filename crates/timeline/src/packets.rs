//! Packets of tracks and of the CPUs' sequences.

use crate::schema::{
    BEGIN, BY_RANK, CLEARED, Data, Defaults, END, EventName, InternedData, NEEDED, Packet, SystemInfo,
    TrackDescriptor, TrackEvent, TrackEventDefaults, Utsname,
};
use crate::sink::Ns;

/// Number of the first CPU's track; lower numbers are free for other tracks.
const CPUS: u64 = 16;

/// Number of the packet sequence that belongs to no CPU. The sequences of the CPUs follow.
const GENERAL: u32 = 1;

fn sequence(cpu: usize) -> u32 {
    GENERAL + 1 + cpu as u32
}

/// Description of what a trace is of.
pub(crate) fn about(sysname: &str, release: String, machine: String, cpus: Option<u32>) -> Packet {
    let utsname = Utsname {
        sysname: Some(sysname.to_owned()),
        version: Some(format!("schedlab {}", env!("CARGO_PKG_VERSION"))),
        release: Some(release),
        machine: Some(machine),
    };
    let info = SystemInfo { utsname: Some(utsname), num_cpus: cpus };
    Packet { data: Some(Data::SystemInfo(info)), ..Packet::default() }
}

/// A packet that belongs to no CPU.
pub(crate) fn general(timestamp: Option<Ns>, data: Data) -> Packet {
    Packet { timestamp, trusted_packet_sequence_id: Some(GENERAL), data: Some(data), ..Packet::default() }
}

/// Description of a track.
pub(crate) fn track(uuid: u64, name: &str) -> TrackDescriptor {
    TrackDescriptor { uuid: Some(uuid), name: Some(name.to_owned()), ..TrackDescriptor::default() }
}

/// Description of a track below which the tracks of CPUs are in order.
pub(crate) fn track_of_cpus(uuid: u64, name: &str) -> Packet {
    let descriptor = TrackDescriptor { child_ordering: Some(BY_RANK), ..track(uuid, name) };
    general(None, Data::TrackDescriptor(descriptor))
}

/// Description of the track of a CPU below another track.
pub(crate) fn track_of_cpu(cpu: usize, parent: u64) -> Packet {
    let descriptor = TrackDescriptor {
        parent_uuid: Some(parent),
        sibling_order_rank: Some(cpu as i32),
        ..track(CPUS + cpu as u64, &format!("CPU {cpu}"))
    };
    general(None, Data::TrackDescriptor(descriptor))
}

/// The defaults of a CPU's packets: their track, and names by number, from 1.
pub(crate) fn defaults(cpu: usize, names: impl Iterator<Item = String>) -> Packet {
    let named = |(iid, name)| EventName { iid: Some(iid), name: Some(name) };
    let track_event_defaults = Some(TrackEventDefaults { track_uuid: Some(CPUS + cpu as u64) });
    Packet {
        trusted_packet_sequence_id: Some(sequence(cpu)),
        sequence_flags: Some(CLEARED),
        interned_data: Some(InternedData { event_names: (1..).zip(names).map(named).collect() }),
        trace_packet_defaults: Some(Defaults { track_event_defaults }),
        ..Packet::default()
    }
}

/// An event on the track of a CPU.
pub(crate) fn event(cpu: usize, at: Ns, event: TrackEvent) -> Packet {
    Packet {
        timestamp: Some(at),
        sequence_flags: Some(NEEDED),
        trusted_packet_sequence_id: Some(sequence(cpu)),
        data: Some(Data::TrackEvent(event)),
        ..Packet::default()
    }
}

/// The beginning of a slice whose name has a number.
pub(crate) fn begin(name: u64) -> TrackEvent {
    TrackEvent { r#type: Some(BEGIN), name_iid: Some(name), ..TrackEvent::default() }
}

/// The end of a slice.
pub(crate) fn end() -> TrackEvent {
    TrackEvent { r#type: Some(END), ..TrackEvent::default() }
}
