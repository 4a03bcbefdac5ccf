//! The part of Perfetto's trace format that timelines use.
//!
//! Names, numbers and types of the fields come from the format's definition (Perfetto's
//! `protos/perfetto/trace/perfetto_trace.proto`, v59); a test of the Python package reads timelines with the
//! official definition. Messages are derived with `prost` instead of generated, so that the build needs
//! neither a protobuf compiler nor a copy of the definition, and tests read traces with the same types.

use prost::{Message, Oneof};

/// A trace: a list of packets.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Packets in the order of writing.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<Packet>,
}

/// Encoded tag of [`Trace::packet`], which precedes each packet in a file.
pub const PACKET_TAG: u8 = (1 << 3) | 2;

/// One packet of a trace (`TracePacket`).
#[derive(Clone, PartialEq, Message)]
pub struct Packet {
    /// Virtual time in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Sequence to which names and defaults belong.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Names that later packets of the sequence reference by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// Flags: [`CLEARED`], [`NEEDED`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// Default values for later packets of the sequence.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<Defaults>,
    /// Content of the packet.
    #[prost(oneof = "Data", tags = "1, 11, 45, 60")]
    pub data: Option<Data>,
}

/// The sequence begins: earlier names and defaults are void.
pub const CLEARED: u32 = 1;
/// The packet depends on earlier names and defaults.
pub const NEEDED: u32 = 2;

/// Content of a packet.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// Events of the kernel on one CPU.
    #[prost(message, tag = "1")]
    FtraceEvents(Bundle),
    /// An event on a track.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// The machine.
    #[prost(message, tag = "45")]
    SystemInfo(SystemInfo),
    /// A track.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// Events of the kernel on one CPU (`FtraceEventBundle`).
#[derive(Clone, PartialEq, Message)]
pub struct Bundle {
    /// The CPU.
    #[prost(uint32, optional, tag = "1")]
    pub cpu: Option<u32>,
    /// Events of the CPU.
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<Event>,
}

/// An event of the kernel (`FtraceEvent`).
#[derive(Clone, PartialEq, Message)]
pub struct Event {
    /// Virtual time in nanoseconds.
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    /// The task on the CPU.
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    /// [`HARD_INTERRUPT`] or 0.
    #[prost(uint32, optional, tag = "5")]
    pub common_flags: Option<u32>,
    /// Kind of event.
    #[prost(oneof = "EventKind", tags = "4, 20, 114, 235, 240, 491")]
    pub kind: Option<EventKind>,
}

/// The event comes from an interrupt, not from the task (`TRACE_FLAG_HARDIRQ`, include/linux/trace_events.h).
pub const HARD_INTERRUPT: u32 = 8;

/// Kind of event.
#[derive(Clone, PartialEq, Oneof)]
pub enum EventKind {
    /// A CPU switches tasks.
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    /// A task is woken.
    #[prost(message, tag = "20")]
    SchedWaking(Waking),
    /// A new task is made runnable.
    #[prost(message, tag = "114")]
    SchedWakeupNew(Waking),
    /// A task is created.
    #[prost(message, tag = "235")]
    TaskNewtask(TaskNewtask),
    /// A task has exited.
    #[prost(message, tag = "240")]
    SchedProcessFree(ProcessFree),
    /// A task changes its CPU.
    #[prost(message, tag = "491")]
    SchedMigrateTask(MigrateTask),
}

/// `sched_switch`. Names of tasks are left out, because `task_newtask` contains the names.
#[derive(Clone, PartialEq, Message)]
pub struct SchedSwitch {
    /// Previous task; 0 is idle.
    #[prost(int32, optional, tag = "2")]
    pub prev_pid: Option<i32>,
    /// State of the previous task: [`RUNNABLE`] and the following constants.
    #[prost(int64, optional, tag = "4")]
    pub prev_state: Option<i64>,
    /// Next task; 0 is idle.
    #[prost(int32, optional, tag = "6")]
    pub next_pid: Option<i32>,
}

/// Runnable (`TASK_RUNNING`, include/linux/sched.h, as the following constants).
pub const RUNNABLE: i64 = 0;
/// Sleeping (`TASK_INTERRUPTIBLE`).
pub const SLEEPING: i64 = 1;
/// Exited (`EXIT_DEAD`).
pub const DEAD: i64 = 0x10;
/// Preempted (`TASK_REPORT_MAX`).
pub const PREEMPTED: i64 = 0x100;

/// `sched_waking`, `sched_wakeup_new`.
#[derive(Clone, PartialEq, Message)]
pub struct Waking {
    /// The woken task.
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    /// CPU whose queue receives the task.
    #[prost(int32, optional, tag = "5")]
    pub target_cpu: Option<i32>,
}

/// `task_newtask`.
#[derive(Clone, PartialEq, Message)]
pub struct TaskNewtask {
    /// The new task.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub comm: Option<String>,
    /// [`CLONE_THREAD`] or 0.
    #[prost(uint64, optional, tag = "3")]
    pub clone_flags: Option<u64>,
}

/// The new task is a thread of its parent's process (`CLONE_THREAD`, include/uapi/linux/sched.h).
pub const CLONE_THREAD: u64 = 0x0001_0000;

/// `sched_process_free`.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessFree {
    /// The task.
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
}

/// `sched_migrate_task`.
#[derive(Clone, PartialEq, Message)]
pub struct MigrateTask {
    /// The task.
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    /// Source CPU.
    #[prost(int32, optional, tag = "4")]
    pub orig_cpu: Option<i32>,
    /// Destination CPU.
    #[prost(int32, optional, tag = "5")]
    pub dest_cpu: Option<i32>,
}

/// A track that belongs neither to a CPU nor to a thread.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Number of the track.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Order of the child tracks: [`BY_RANK`].
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Rank among its siblings.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Child tracks are ordered by rank (`ChildTracksOrdering::EXPLICIT`).
pub const BY_RANK: i32 = 3;

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Annotations of the event.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<Annotation>,
    /// [`BEGIN`], [`END`] or [`INSTANT`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Number of its name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Track, if it differs from the sequence's default.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Name.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
}

/// A slice begins.
pub const BEGIN: i32 = 1;
/// The slice ends.
pub const END: i32 = 2;
/// An instant.
pub const INSTANT: i32 = 3;

/// Annotation of an event (`DebugAnnotation`).
#[derive(Clone, PartialEq, Message)]
pub struct Annotation {
    /// Name of the value.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// A number.
    #[prost(int64, optional, tag = "4")]
    pub int_value: Option<i64>,
    /// A text.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
}

/// Names by number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<EventName>,
}

/// A name and its number.
#[derive(Clone, PartialEq, Message)]
pub struct EventName {
    /// From 1 on.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// Default values of a sequence's packets (`TracePacketDefaults`).
#[derive(Clone, PartialEq, Message)]
pub struct Defaults {
    /// Defaults of events on tracks.
    #[prost(message, optional, tag = "11")]
    pub track_event_defaults: Option<TrackEventDefaults>,
}

/// Default values of events on tracks.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEventDefaults {
    /// Track of the packets.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

/// The machine.
#[derive(Clone, PartialEq, Message)]
pub struct SystemInfo {
    /// System information.
    #[prost(message, optional, tag = "1")]
    pub utsname: Option<Utsname>,
    /// Number of CPUs.
    #[prost(uint32, optional, tag = "8")]
    pub num_cpus: Option<u32>,
}

/// System information (uname(2)).
#[derive(Clone, PartialEq, Message)]
pub struct Utsname {
    /// Name of the system.
    #[prost(string, optional, tag = "1")]
    pub sysname: Option<String>,
    /// Version.
    #[prost(string, optional, tag = "2")]
    pub version: Option<String>,
    /// Release.
    #[prost(string, optional, tag = "3")]
    pub release: Option<String>,
    /// The machine.
    #[prost(string, optional, tag = "4")]
    pub machine: Option<String>,
}
