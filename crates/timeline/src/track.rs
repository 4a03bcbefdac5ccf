//! Slices of kernel work on a track of each CPU, and instants on a track of the simulation.

use std::io::Write;

use schedlab_sim::Account;

use crate::packets;
use crate::schema::{Annotation, Data, INSTANT, Packet, TrackEvent};
use crate::sink::{Ns, Sink};

/// Numbers of tracks: the simulation, and kernel work above the tracks of the CPUs.
const SIMULATION: u64 = 1;
const KERNEL: u64 = 2;

/// Describe all tracks.
pub(crate) fn describe<W: Write>(sink: &mut Sink<W>, cpus: usize) {
    sink.packet(&packets::general(None, Data::TrackDescriptor(packets::track(SIMULATION, "Simulation"))));
    sink.packet(&packets::track_of_cpus(KERNEL, "Kernel work (simulated)"));
    (0..cpus).for_each(|cpu| sink.packet(&packets::track_of_cpu(cpu, KERNEL)));
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
    packets::general(Some(at), Data::TrackEvent(event))
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
            let names = Account::ALL.iter().map(|account| account.name().to_owned());
            sink.packet(&packets::defaults(self.cpu, names));
        }
        sink.packet(&packets::event(self.cpu, from, packets::begin(account as u64 + 1)));
        sink.packet(&packets::event(self.cpu, until, packets::end()));
    }
}
