//! Resources that tasks share: channels, locks, semaphores, barriers, memory and time stamps.

use serde::{Deserialize, Serialize};

/// Default of a count.
pub(super) fn one() -> u32 {
    1
}

fn is_one(value: &u32) -> bool {
    *value == 1
}

/// All resources of a program, by kind. Names are unique within a kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resources {
    /// Byte streams and datagram flows between tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    /// Sleeping mutexes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
    /// Counting semaphores, waited for in a futex.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub semaphores: Vec<Semaphore>,
    /// Meeting points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<Barrier>,
    /// Conditions that tasks wait for and signal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Files that tasks write to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Names of timers. Each task has a separate set. A forked child starts with a copy of its parent's set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<String>,
    /// Memory that tasks read and write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<Region>,
    /// Time stamps that one task can leave for another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
}

/// Number of copies of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One set for each task.
    Task,
    /// One set for each replica, shared by its tasks.
    #[default]
    Replica,
    /// One set, shared by all tasks.
    Program,
}

impl Scope {
    /// Sets of instances in a program with this number of replicas and tasks.
    pub fn copies(self, replicas: u32, tasks: u32) -> u32 {
        match self {
            Self::Task => tasks,
            Self::Replica => replicas,
            Self::Program => 1,
        }
    }
}

/// Properties of every kind of resource.
pub trait Resource {
    /// Word for the kind in messages, such as `channel`.
    const KIND: &'static str;
    /// Name of the resource.
    fn name(&self) -> &str;
    /// Give the resource another name.
    fn rename(&mut self, name: String);
    /// Instances per scope; at least 1.
    fn count(&self) -> u32;
    /// Tasks that share an instance.
    fn scope(&self) -> Scope;
}

/// Evaluates `$check` for each kind of resource, with `$list` as the list of the resources of that kind.
macro_rules! each_kind {
    ($resources:expr, $list:ident => $check:expr) => {
        each_kind!($resources, $list => $check,
            channels locks semaphores barriers conditions files regions slots)
    };
    ($resources:expr, $list:ident => $check:expr, $($kind:ident)*) => {
        $({
            let $list = &$resources.$kind;
            $check
        })*
    };
}
pub(crate) use each_kind;

/// Carrier of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// `pipe(2)`: one direction.
    Pipe,
    /// `socketpair(AF_UNIX, SOCK_STREAM)`: both directions.
    Unix,
    /// A TCP connection over the IPv4 loopback: both directions.
    Tcp,
    /// A pair of connected UDP sockets over the IPv4 loopback: both directions, datagrams may be lost.
    Udp,
}

macro_rules! resource {
    ($(#[$doc:meta])* $type:ident, $kind:literal { $($(#[$field_doc:meta])* $field:ident : $field_type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            /// Name by which bodies refer to the resource.
            pub name: String,
            /// Instances per scope; at least 1.
            #[serde(default = "one", skip_serializing_if = "is_one")]
            pub count: u32,
            /// Tasks that share an instance.
            #[serde(default)]
            pub scope: Scope,
            $($(#[$field_doc])* pub $field: $field_type,)*
        }

        impl Resource for $type {
            const KIND: &'static str = $kind;

            fn name(&self) -> &str {
                &self.name
            }

            fn rename(&mut self, name: String) {
                self.name = name;
            }

            fn count(&self) -> u32 {
                self.count
            }

            fn scope(&self) -> Scope {
                self.scope
            }
        }
    };
}

resource! {
    /// A connection. The executor creates the channel just before the first task that uses the channel, and
    /// closes each end after the creation of the last task that uses that end.
    Channel, "channel" {
        /// Carrier.
        kind: ChannelKind,
        /// For TCP: send small segments at once (`TCP_NODELAY`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_delay: bool,
        /// For TCP and UDP: bytes of both ends' send and receive buffers (`SO_SNDBUF`, `SO_RCVBUF`), which the kernel doubles.
        /// Without the field, and for other carriers, the kernel's defaults.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer: Option<u32>,
    }
}

resource! {
    /// A mutex whose waiters sleep in a futex.
    Lock, "lock" {}
}

resource! {
    /// A counting semaphore whose waiters sleep in a futex.
    Semaphore, "semaphore" {
        /// Value at the opening of the gate.
        #[serde(default)]
        initial: u32,
    }
}

resource! {
    /// A meeting point that opens whenever `parties` tasks have arrived.
    Barrier, "barrier" {
        /// Tasks that meet; at least 1.
        parties: u32,
    }
}

resource! {
    /// A condition variable whose waiters sleep in a futex.
    Condition, "condition" {}
}

resource! {
    /// A file that is opened for writing before the start, and created if the file does not exist. A
    /// simulator has no files and treats each file as a device that accepts all bytes at once, as `/dev/null`
    /// does.
    File, "file" {
        /// Path of the file.
        path: String,
    }
}

resource! {
    /// Zeroed memory. A region of scope `task` is private to the task and has no pages before the first
    /// touch.
    Region, "region" {
        /// Size in bytes; at least 1.
        bytes: u64,
    }
}

resource! {
    /// A time stamp in shared memory.
    Slot, "slot" {}
}
