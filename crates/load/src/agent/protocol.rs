//! Messages between a controller and the agent: one JSON object a line, requests on standard input, replies on standard
//! output.
//!
//! ```text
//! → {"id":1,"op":"hello"}                    ← {"id":1,"ok":{"protocol":7,"boot_id":…,…}}
//! → {"id":2,"op":"begin","run":"run-7",…}    ← {"id":2,"ok":{"outcomes":[…]}}      on request locks and recovers
//! → {"id":3,"op":"watch","files":[…]}        ← {"id":3,"ok":{}}                    before the run's first change
//! → {"id":4,"op":"put","wanted":[…]}         ← {"id":4,"error":{"kind":"changed","text":…}}
//! → {"id":5,"op":"run","argv":[…],…}         ← {"id":5,"ok":{"status":0,…}}
//! → {"id":0,"op":"beat"}                                                           no reply; renews the lease
//! → {"id":6,"op":"end"}                      ← {"id":6,"ok":{"outcomes":[…]}}      all is undone; the agent ends
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::resources::Resource;

/// Version of the messages. A controller refuses an agent of another version.
pub const PROTOCOL: u32 = 7;

/// A request with the number that its reply repeats.
#[derive(Debug, Deserialize)]
pub struct Frame {
    /// Number of the request.
    pub id: u64,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Return a description of the agent and its machine.
    Hello,
    /// Renew the lease.
    Beat,
    /// Return the contents of files. A path may contain `*` in its components.
    Read {
        /// Absolute paths.
        paths: Vec<String>,
    },
    /// Return the files that cannot be opened for writing.
    Writable {
        /// Absolute paths.
        paths: Vec<String>,
    },
    /// Return the paths of programs, or of files that match one of the patterns.
    Find {
        /// Patterns by the name of a program, which is also looked up in `PATH`.
        programs: BTreeMap<String, Vec<String>>,
    },
    /// Mount debugfs in a mount namespace of the agent, unless debugfs is mounted.
    Debugfs,
    /// Undo the changes of dead agents.
    Recover,
    /// Return a description of each journal. Changes nothing.
    Journals,
    /// Return the holder of the machine's lock, or null. Changes nothing.
    Holder,
    /// Write files of a machine that is discarded after the run, as a guest is, without a journal. Return what the files
    /// then contain.
    Set {
        /// Settings, in order.
        settings: Vec<Setting>,
    },
    /// Begin a run, and start the lease.
    Begin {
        /// Name of the run, for the journal.
        run: String,
        /// Seconds without a request after which the agent undoes everything and ends; 0 for no lease.
        lease: f64,
        /// Whether to lock the machine, and to undo the changes of dead agents.
        alone: bool,
    },
    /// Watch all files that the run will change: their values at the start of the run are the originals.
    Watch {
        /// The files with their values.
        files: Vec<Original>,
    },
    /// Write the original values of files, to know that they can be restored.
    Rehearse {
        /// The files with their values.
        files: Vec<Original>,
    },
    /// Give these files their new values, and the other files of this run their original values.
    Put {
        /// The values of a variant.
        wanted: Vec<Change>,
    },
    /// Return the directories of control groups by group and controller.
    Groups {
        /// Names of the groups.
        names: Vec<String>,
        /// Controllers that the groups need.
        controllers: Vec<String>,
        /// Whether to make the groups; otherwise nothing is changed.
        make: bool,
    },
    /// Record a resource that the run is about to make. The end of the run removes the resource.
    Made(Resource),
    /// Record that the run has removed a resource.
    Gone(Resource),
    /// Run a trial.
    Run(Trial),
    /// End the trial under way with all its processes. The trial's request gets no reply.
    Cancel,
    /// End the trial, undo all changes, and end the agent.
    End,
}

/// How a file shows its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The whole text is the value; white space is normalised.
    Whole,
    /// One of the text's words shows the value, as in `always [madvise] never`.
    Word,
}

/// A value of a file: the text to write, and the texts by which the file shows the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The text to write.
    pub write: String,
    /// The texts by which the file may show the value.
    pub shown: Vec<String>,
}

/// A file that a run changes, with its value before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Name of the tunable.
    pub name: String,
    /// The file.
    pub path: String,
    /// How the file shows its value.
    pub form: Form,
    /// Whether only a write changes the value. Reading back proves nothing for a value that the kernel adapts.
    pub steady: bool,
    /// The value that the controller read at the start of the run.
    pub original: Value,
}

impl Original {
    /// Whether both are the same tunable in the same file.
    pub fn is(&self, other: &Self) -> bool {
        (&self.path, &self.name) == (&other.path, &other.name)
    }
}

/// A wanted value of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file.
    #[serde(flatten)]
    pub file: Original,
    /// The value to put in place.
    pub new: Value,
}

/// Who wrote a file during a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// A process of the trial.
    Workload,
    /// Another process.
    Other,
    /// A process that ended before it was looked up, or the kernel; always without fanotify.
    Unknown,
}

/// A tunable that changed while a trial ran.
#[derive(Debug, Serialize)]
pub struct ChangedInTrial {
    /// Name of the tunable.
    pub name: String,
    /// The file.
    pub path: String,
    /// Value before the trial.
    pub from: String,
    /// Value after the trial.
    pub to: String,
    /// Who made the change.
    pub by: Writer,
    /// Whether the value was put back. The change of another process stays.
    pub put_back: bool,
}

/// A setting. Settings of the same name that follow each other are alternatives: the first with a file is written.
#[derive(Debug, Deserialize)]
pub struct Setting {
    /// Name of the tunable.
    pub name: String,
    /// Number of the alternative, which the reply repeats.
    pub place: u64,
    /// Absolute path; may contain `*` in its components.
    pub path: String,
    /// The text to write; `None` for a file that keeps its value.
    pub text: Option<String>,
    /// Whether a trial must not change the file.
    #[serde(default)]
    pub steady: bool,
}

/// A trial: a command for `schedload exec`.
#[derive(Debug, Default, Deserialize)]
pub struct Trial {
    /// The words after `schedload exec`, without `--parent` and `--report`.
    pub argv: Vec<String>,
    /// Further environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Working folder; by default the agent's private folder.
    #[serde(default)]
    pub folder: Option<String>,
    /// Files to read just before and just after the trial.
    #[serde(default)]
    pub files: Vec<String>,
    /// Files to read about once a second during the trial.
    #[serde(default)]
    pub samples: Vec<String>,
    /// Whether not to run the command if the command before it failed. The reply is then `{"skipped":true}`.
    #[serde(default)]
    pub after_success: bool,
    /// Whether the command is a step of a hook, whose environment is `PATH` alone.
    #[serde(default)]
    pub hook: bool,
    /// Seconds after which the launcher itself is killed.
    pub limit: f64,
    /// Bytes of an output stream beyond which the command is ended.
    pub largest_output: u64,
}

/// Why a request was refused. Nothing has changed, unless the text says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Kind of the failure, for programs.
    pub kind: Kind,
    /// Description for people.
    pub text: String,
}

/// Kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Another process changed a value.
    Changed,
    /// The kernel refused a write or did not take the value.
    Refused,
    /// The journal cannot be written.
    Journal,
    /// Another run uses the machine.
    Busy,
    /// The machine cannot be locked.
    Lock,
    /// The request does not fit the state of the agent, or is not understood.
    Usage,
    /// A system call failed.
    System,
}

impl Refusal {
    /// Return a refusal.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// Result of a request.
pub type Answer = Result<Json, Refusal>;

/// Return the line of a reply.
pub fn reply(id: u64, answer: &Answer) -> String {
    let body = match answer {
        Ok(value) => serde_json::json!({ "id": id, "ok": value }),
        Err(refusal) => serde_json::json!({ "id": id, "error": refusal }),
    };
    format!("{body}\n")
}
