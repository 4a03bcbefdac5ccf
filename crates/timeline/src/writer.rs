//! The observer, and the encoding of packets into a file.

use std::io::{self, Write};

use prost::Message;
use schedlab_sim::sched::TaskIx;
use schedlab_sim::{Account, Birth, Kernel, Machine, Observer};

use crate::cpu::{Cpu, Tasks};
use crate::schema::{Data, PACKET_TAG, Packet, SystemInfo, Utsname};
use crate::track::{self, Track};

/// Virtual time in nanoseconds.
pub(crate) type Ns = u64;

/// Writer of a simulation as a trace in Perfetto's format.
///
/// After a failed write the timeline writes no more, and the simulation continues. [`Timeline::finish`] returns the error.
pub struct Timeline<W: Write> {
    sink: Sink<W>,
    cpus: Vec<Cpu>,
    tracks: Vec<Track>,
    tasks: Tasks,
}

impl<W: Write> Timeline<W> {
    /// Timeline of a simulation of this machine and kernel, written to `out` in small pieces.
    pub fn new(out: W, machine: &Machine, kernel: &Kernel) -> Self {
        let mut sink = Sink::new(out);
        sink.packet(&about(machine, kernel));
        track::describe(&mut sink, machine.cpus());
        Self {
            sink,
            cpus: (0..machine.cpus()).map(Cpu::new).collect(),
            tracks: (0..machine.cpus()).map(Track::new).collect(),
            tasks: Tasks::default(),
        }
    }

    /// Write the remaining events of a simulation that ended at `closed_ns`. Return the first failed write,
    /// or none.
    pub fn finish(mut self, closed_ns: Ns) -> io::Result<W> {
        self.tracks.iter_mut().for_each(|track| track.close(&mut self.sink));
        self.cpus.iter_mut().for_each(|cpu| cpu.write(&mut self.sink));
        self.sink.packet(&track::instant(closed_ns, "end", None));
        self.sink.finish()
    }
}

impl<W: Write> Observer for Timeline<W> {
    fn created(&mut self, at: Ns, cpu: usize, birth: Birth<'_>) {
        self.tasks.add(&birth);
        self.cpus[cpu].born(at, birth, &self.tasks, &mut self.sink);
    }

    fn ended(&mut self, _: Ns, task: TaskIx) {
        self.tasks.end(task);
    }

    fn switched(&mut self, at: Ns, cpu: usize, from: Option<TaskIx>, to: Option<TaskIx>) {
        self.tracks[cpu].close(&mut self.sink);
        self.cpus[cpu].switch(at, from.is_some(), to, &mut self.tasks, &mut self.sink);
    }

    fn woken(&mut self, at: Ns, cpu: usize, task: TaskIx, target: usize, interrupt: bool) {
        self.cpus[cpu].wake(at, task, target, interrupt, &mut self.tasks, &mut self.sink);
    }

    fn migrated(&mut self, at: Ns, task: TaskIx, from: usize, to: usize) {
        if self.cpus[from].runs(task) {
            self.tasks.moved(task);
        }
        self.cpus[to].migrate(at, task, from, &self.tasks, &mut self.sink);
    }

    fn spent(&mut self, from: Ns, cpu: usize, account: Account, ns: Ns) {
        let idle = self.cpus[cpu].is_idle();
        self.tracks[cpu].spend(from, account, ns, idle, &mut self.sink);
    }

    fn retuned(&mut self, at: Ns, tunable: &str, value: i64) {
        self.sink.packet(&track::instant(at, tunable, Some(value)));
    }
}

/// Name of the traced system in the viewer, which states that the trace is a simulation.
fn about(machine: &Machine, kernel: &Kernel) -> Packet {
    let utsname = Utsname {
        sysname: Some("SIMULATED".to_owned()),
        version: Some(format!("schedlab {}", env!("CARGO_PKG_VERSION"))),
        release: Some(format!("simulated {}", kernel.name)),
        machine: Some(format!("simulated {}", machine.name)),
    };
    let info = SystemInfo { utsname: Some(utsname), num_cpus: Some(machine.cpus() as u32) };
    Packet { data: Some(Data::SystemInfo(info)), ..Packet::default() }
}

/// Destination of packets.
pub(crate) struct Sink<W: Write> {
    out: W,
    bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    /// A destination without packets.
    pub fn new(out: W) -> Self {
        Self { out, bytes: Vec::new(), error: None }
    }

    /// Return the first failed write, or none.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    /// Write a packet, unless a write has failed before.
    pub fn packet(&mut self, packet: &Packet) {
        if self.error.is_some() {
            return;
        }
        self.bytes.clear();
        self.bytes.push(PACKET_TAG);
        let encoded = packet.encode_length_delimited(&mut self.bytes);
        debug_assert!(encoded.is_ok(), "a vector has room for every packet");
        self.error = self.out.write_all(&self.bytes).err();
    }
}
