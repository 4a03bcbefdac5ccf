//! Conversion of the core's errors to exceptions of `schedlab.simulation.errors`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use schedlab_sim::SimError;
use schedlab_workload::rtapp::RtAppError;

/// Any error of the simulator.
pub enum Failure {
    /// The program is not the JSON of a program.
    Json(serde_json::Error),
    /// An rt-app document is wrong.
    RtApp(RtAppError),
    /// A requested file of /proc does not exist.
    NoFile(String),
    /// A simulation needs more memory than the caller allows.
    Memory { needed: u64, limit: u64, tasks: u32 },
    /// The core refuses an input, or a simulation failed.
    Core(SimError),
    /// The timeline cannot be written.
    Timeline(std::io::Error),
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        Self::Core(error)
    }
}

impl From<RtAppError> for Failure {
    fn from(error: RtAppError) -> Self {
        Self::RtApp(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

/// Advice when a simulation needs more memory than its limit.
const ANOTHER_LIMIT: &str =
    "smaller parameters need less; --memory SIZE, or memory= in Python, states another limit";

/// The parts of a Python exception: class, message, place, and advice.
struct Exception {
    class: &'static str,
    message: String,
    place: String,
    todo: String,
}

/// The Python exception of a failure.
pub fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    to_python(py, exception(failure)).unwrap_or_else(|error| error)
}

fn to_python(py: Python<'_>, exception: Exception) -> PyResult<PyErr> {
    let class = py.import("schedlab.simulation.errors")?.getattr(exception.class)?;
    let arguments = PyDict::new(py);
    arguments.set_item("where", exception.place)?;
    arguments.set_item("todo", exception.todo)?;
    Ok(PyErr::from_value(class.call((exception.message,), Some(&arguments))?))
}

/// The system's message, without the error number that Rust appends.
fn message(error: &std::io::Error) -> String {
    let text = error.to_string();
    format!("cannot be written: {}", text.split(" (os error").next().unwrap_or(&text))
}

fn exception(failure: Failure) -> Exception {
    let new = |class, message: String, place: &str, todo: &str| Exception {
        class,
        message,
        place: place.to_owned(),
        todo: todo.to_owned(),
    };
    let error = match failure {
        Failure::Json(error) => {
            let todo = "'schedload show WORKLOAD' prints a valid program";
            return new("ProgramError", format!("is not a program: {error}"), "program", todo);
        }
        Failure::RtApp(error) => {
            let todo = "the output of 'schedload show' has a key \"schema\"; a document without this key is read as rt-app's JSON";
            return new("ProgramError", error.to_string(), "rt-app", todo);
        }
        Failure::NoFile(reason) => return new("SettingRefused", reason, "proc", ""),
        Failure::Memory { needed, limit, tasks } => {
            let mib = |bytes: u64| bytes.div_ceil(1 << 20);
            let message = format!(
                "the simulation needs about {} MiB of memory for {tasks} tasks, and {} MiB are available",
                mib(needed),
                mib(limit)
            );
            return new("MemoryRefused", message, "", ANOTHER_LIMIT);
        }
        Failure::Core(error) => error,
        Failure::Timeline(error) => return new("TimelineError", message(&error), "timeline", ""),
    };
    let text = error.to_string();
    match error {
        SimError::Definition { kind: "horizon", .. } => new("SettingRefused", text, "", ""),
        SimError::Definition { .. } | SimError::Machine { .. } | SimError::Unknown { .. } => new(
            "ModelError",
            text,
            "",
            "'schedlab sim machines show NAME' and 'schedlab sim kernels show NAME' print complete definitions",
        ),
        SimError::NoTunable { kernel, .. } | SimError::TunableRange { kernel, .. } => {
            let shown = schedlab_sim::kernel_names().find(|name| *name == kernel).unwrap_or("FILE");
            let todo = format!("'schedlab sim kernels show {shown}' lists the tunables of this kernel model");
            new("SettingRefused", text, "", &todo)
        }
        SimError::Memory { .. } => new("MemoryRefused", text, "", ANOTHER_LIMIT),
        SimError::Allocation { .. } => new("MemoryRefused", text, "", "smaller parameters need less"),
        SimError::CommandLine { .. } | SimError::Attributes { .. } => new("SettingRefused", text, "", ""),
        SimError::Program(_) => new("ProgramError", text, "program", ""),
        SimError::Deadlock { .. } => {
            new("Deadlock", text, "program", "a task must end each wait: examine the tasks that wait")
        }
        SimError::Task { .. } => new("TaskFailed", text, "program", ""),
    }
}
