//! The observer of a simulation.

use std::io::{self, Write};

use schedlab_sim::sched::TaskIx;
use schedlab_sim::{Account, Birth, Kernel, Machine, Observer};

use crate::cpu::{Cpu, Tasks};
use crate::packets;
use crate::schema::Packet;
use crate::sink::{Ns, Sink};
use crate::track::{self, Track};

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
    let (release, machine_name) = (&kernel.name, &machine.name);
    let cpus = Some(machine.cpus() as u32);
    packets::about("SIMULATED", format!("simulated {release}"), format!("simulated {machine_name}"), cpus)
}
