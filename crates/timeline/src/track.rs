//! Slices of kernel work on a track of each CPU, and instants on a track of the simulation.

use std::io::Write;

use schedlab_sim::Account;

use crate::schema::{
    Annotation, BEGIN, BY_RANK, CLEARED, Data, Defaults, END, EventName, INSTANT, InternedData, NEEDED,
    Packet, TrackDescriptor, TrackEvent, TrackEventDefaults,
};
use crate::sink::{Ns, Sink};

/// Numbers of tracks: the simulation; kernel work; CPU 0 below kernel work, followed by the other CPUs.
const SIMULATION: u64 = 1;
const KERNEL: u64 = 2;
const CPUS: u64 = 16;

/// Number of the packet sequence that belongs to no CPU. The sequences of the CPUs follow.
const GENERAL: u32 = 1;

/// Describe all tracks.
pub(crate) fn describe<W: Write>(sink: &mut Sink<W>, cpus: usize) {
    let named = |uuid, name: &str| TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name.to_owned()),
        ..TrackDescriptor::default()
    };
    let mut write = |descriptor| sink.packet(&general(None, Data::TrackDescriptor(descriptor)));
    write(named(SIMULATION, "Simulation"));
    write(TrackDescriptor { child_ordering: Some(BY_RANK), ..named(KERNEL, "Kernel work (simulated)") });
    for cpu in 0..cpus {
        write(TrackDescriptor {
            parent_uuid: Some(KERNEL),
            sibling_order_rank: Some(cpu as i32),
            ..named(CPUS + cpu as u64, &format!("CPU {cpu}"))
        });
    }
}

/// An instant on the track of the machine.
pub(crate) fn instant(at: Ns, name: &str, value: Option<i64>) -> Packet {
    let annotation = value.map(|value| Annotation {
        name: Some("value".to_owned()),
        int_value: Some(value),
        ..Annotation::default()
    });
    let event = TrackEvent {
        r#type: Some(INSTANT),
        track_uuid: Some(SIMULATION),
        name: Some(name.to_owned()),
        debug_annotations: annotation.into_iter().collect(),
        ..TrackEvent::default()
    };
    general(Some(at), Data::TrackEvent(event))
}

fn general(timestamp: Option<Ns>, data: Data) -> Packet {
    Packet { timestamp, trusted_packet_sequence_id: Some(GENERAL), data: Some(data), ..Packet::default() }
}

/// Whether the work belongs on the track of a task, because the task requested the work.
fn is_task_work(account: Account) -> bool {
    matches!(
        account,
        Account::User
            | Account::Syscall
            | Account::Messages
            | Account::Fault
            | Account::Family
            | Account::Wakeup
            | Account::Search
            | Account::Switch
    )
}

/// The kernel work of a CPU.
pub(crate) struct Track {
    cpu: usize,
    begun: bool,
    /// Work that can continue: account, start and end.
    open: Option<(Account, Ns, Ns)>,
}

impl Track {
    pub fn new(cpu: usize) -> Self {
        Self { cpu, begun: false, open: None }
    }

    /// Record a CPU's time outside of its task's work, and all time while the CPU has no task.
    pub fn spend<W: Write>(&mut self, from: Ns, account: Account, ns: Ns, idle: bool, sink: &mut Sink<W>) {
        if ns == 0 || account == Account::Idle || (!idle && is_task_work(account)) {
            return;
        }
        match &mut self.open {
            Some((open, _, until)) if *open == account && *until == from => *until += ns,
            _ => {
                self.close(sink);
                self.open = Some((account, from, from + ns));
            }
        }
    }

    /// End the open slice.
    pub fn close<W: Write>(&mut self, sink: &mut Sink<W>) {
        let Some((account, from, until)) = self.open.take() else { return };
        if !std::mem::replace(&mut self.begun, true) {
            sink.packet(&self.names());
        }
        let begin =
            TrackEvent { r#type: Some(BEGIN), name_iid: Some(account as u64 + 1), ..TrackEvent::default() };
        sink.packet(&self.packet(from, begin));
        sink.packet(&self.packet(until, TrackEvent { r#type: Some(END), ..TrackEvent::default() }));
    }

    fn packet(&self, at: Ns, event: TrackEvent) -> Packet {
        Packet {
            timestamp: Some(at),
            sequence_flags: Some(NEEDED),
            trusted_packet_sequence_id: Some(self.sequence()),
            data: Some(Data::TrackEvent(event)),
            ..Packet::default()
        }
    }

    /// Return the packet with the defaults of the track's packets: their track, and the names of the accounts.
    fn names(&self) -> Packet {
        let name = |account: &Account| EventName {
            iid: Some(*account as u64 + 1),
            name: Some(account.name().to_owned()),
        };
        let track_uuid = Some(CPUS + self.cpu as u64);
        Packet {
            trusted_packet_sequence_id: Some(self.sequence()),
            sequence_flags: Some(CLEARED),
            interned_data: Some(InternedData { event_names: Account::ALL.iter().map(name).collect() }),
            trace_packet_defaults: Some(Defaults {
                track_event_defaults: Some(TrackEventDefaults { track_uuid }),
            }),
            ..Packet::default()
        }
    }

    fn sequence(&self) -> u32 {
        GENERAL + 1 + self.cpu as u32
    }
}
