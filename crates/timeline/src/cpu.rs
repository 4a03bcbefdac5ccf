//! Kernel events of each CPU, and the numbers of tasks in the trace.

use std::io::Write;

use schedlab_sim::Birth;
use schedlab_sim::sched::TaskIx;

use crate::schema::{
    Bundle, CLONE_THREAD, DEAD, Data, Event, EventKind, HARD_INTERRUPT, MigrateTask, PREEMPTED, Packet,
    ProcessFree, RUNNABLE, SLEEPING, SchedSwitch, TaskNewtask, Waking,
};
use crate::sink::{Ns, Sink};

/// Events that a CPU collects for one write: a packet of a few KiB.
const MOST: usize = 128;

/// The number of the idle task of each CPU, as in the kernel.
const IDLE: i32 = 0;

/// State of a task in the trace.
#[derive(Clone, Copy, Default)]
struct Task {
    /// Number in the trace. The simulator reuses the numbers of its tasks; numbers in the trace are unique.
    pid: i32,
    /// Whether the task has not been woken yet.
    new: bool,
    /// Time at which the task last left a CPU.
    left_at: Ns,
    leaving: Leaving,
}

/// Reason why a task leaves its CPU.
#[derive(Clone, Copy, Default, PartialEq)]
enum Leaving {
    #[default]
    Waits,
    Moves,
    Ends,
}

/// All live tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    last: i32,
}

impl Tasks {
    /// Assign a number to a new task.
    pub fn add(&mut self, birth: &Birth<'_>) {
        let at = birth.task as usize;
        self.tasks.resize(self.tasks.len().max(at + 1), Task::default());
        self.last += 1;
        self.tasks[at] = Task { pid: self.last, new: birth.parent.is_some(), ..Task::default() };
    }

    /// Record that the task will exit when it leaves its CPU.
    pub fn end(&mut self, task: TaskIx) {
        self.tasks[task as usize].leaving = Leaving::Ends;
    }

    /// Record that the current task of a CPU will move to another CPU.
    pub fn moved(&mut self, task: TaskIx) {
        self.tasks[task as usize].leaving = Leaving::Moves;
    }

    fn pid(&self, task: TaskIx) -> i32 {
        self.tasks[task as usize].pid
    }
}

/// A CPU's events that are not yet written.
pub(crate) struct Cpu {
    number: usize,
    current: Option<TaskIx>,
    pid: i32,
    events: Vec<Event>,
}

impl Cpu {
    pub fn new(number: usize) -> Self {
        Self { number, current: None, pid: IDLE, events: Vec::new() }
    }

    pub fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    pub fn runs(&self, task: TaskIx) -> bool {
        self.current == Some(task)
    }

    /// Record that the current task creates a task.
    pub fn born<W: Write>(&mut self, at: Ns, birth: Birth<'_>, tasks: &Tasks, sink: &mut Sink<W>) {
        let new = TaskNewtask {
            pid: Some(tasks.pid(birth.task)),
            comm: Some((birth.name)()),
            clone_flags: Some(if birth.thread { CLONE_THREAD } else { 0 }),
        };
        // The new thread belongs to its parent's process. The task of the event is the parent.
        let parent = birth.parent.map_or(IDLE, |parent| tasks.pid(parent));
        self.add(at, parent, 0, EventKind::TaskNewtask(new), sink);
    }

    /// Record a switch to another task or to idle.
    pub fn switch<W: Write>(
        &mut self,
        at: Ns,
        preempted: bool,
        to: Option<TaskIx>,
        tasks: &mut Tasks,
        sink: &mut Sink<W>,
    ) {
        let (previous, pid) = (self.current, self.pid);
        let mut ended = false;
        let state = previous.map_or(RUNNABLE, |task| {
            let it = &mut tasks.tasks[task as usize];
            it.left_at = at;
            let leaving = std::mem::take(&mut it.leaving);
            ended = leaving == Leaving::Ends;
            match leaving {
                Leaving::Ends => DEAD,
                Leaving::Moves => RUNNABLE,
                Leaving::Waits if preempted => PREEMPTED,
                Leaving::Waits => SLEEPING,
            }
        });
        let next = to.map_or(IDLE, |task| tasks.pid(task));
        let switch = SchedSwitch { prev_pid: Some(pid), prev_state: Some(state), next_pid: Some(next) };
        self.add(at, pid, 0, EventKind::SchedSwitch(switch), sink);
        (self.current, self.pid) = (to, next);
        if ended {
            self.add(at, next, 0, EventKind::SchedProcessFree(ProcessFree { pid: Some(pid) }), sink);
        }
    }

    /// Record a wake-up by this CPU.
    pub fn wake<W: Write>(
        &mut self,
        at: Ns,
        task: TaskIx,
        target: usize,
        interrupt: bool,
        tasks: &mut Tasks,
        sink: &mut Sink<W>,
    ) {
        let it = &mut tasks.tasks[task as usize];
        let waking = Waking { pid: Some(it.pid), target_cpu: Some(target as i32) };
        let kind = if std::mem::take(&mut it.new) {
            EventKind::SchedWakeupNew(waking)
        } else {
            EventKind::SchedWaking(waking)
        };
        // A CPU's kernel work is recorded ahead of other CPUs' events, so a task's wake-up can precede its switch. A viewer
        // would show the wake-up of a running task.
        let at = if it.left_at >= at { it.left_at + 1 } else { at };
        self.add(at, self.pid, if interrupt { HARD_INTERRUPT } else { 0 }, kind, sink);
    }

    /// Record the migration of a task to this CPU.
    pub fn migrate<W: Write>(
        &mut self,
        at: Ns,
        task: TaskIx,
        from: usize,
        tasks: &Tasks,
        sink: &mut Sink<W>,
    ) {
        let (pid, orig, dest) = (tasks.pid(task), from as i32, self.number as i32);
        let migrate = MigrateTask { pid: Some(pid), orig_cpu: Some(orig), dest_cpu: Some(dest) };
        self.add(at, self.pid, 0, EventKind::SchedMigrateTask(migrate), sink);
    }

    fn add<W: Write>(&mut self, at: Ns, pid: i32, flags: u32, kind: EventKind, sink: &mut Sink<W>) {
        self.events.push(Event {
            timestamp: Some(at),
            pid: Some(pid as u32),
            common_flags: (flags != 0).then_some(flags),
            kind: Some(kind),
        });
        if self.events.len() >= MOST {
            self.write(sink);
        }
    }

    /// Write the collected events.
    pub fn write<W: Write>(&mut self, sink: &mut Sink<W>) {
        if self.events.is_empty() {
            return;
        }
        let event = std::mem::take(&mut self.events);
        let bundle = Bundle { cpu: Some(self.number as u32), event };
        let packet = Packet { data: Some(Data::FtraceEvents(bundle)), ..Packet::default() };
        sink.packet(&packet);
        // Reuses the vector.
        if let Some(Data::FtraceEvents(bundle)) = packet.data {
            self.events = bundle.event;
            self.events.clear();
        }
    }
}
