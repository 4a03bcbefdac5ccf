//! The core's errors as exceptions of `schedlab.simulation.errors`: the one place where they are told apart.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use schedlab_sim::SimError;
use schedlab_workload::rtapp::RtAppError;

/// What can go wrong between Python and the core.
pub enum Failure {
    /// The program is not the JSON of a program.
    Json(serde_json::Error),
    /// An rt-app document is wrong.
    RtApp(RtAppError),
    /// A file of /proc that there will not be.
    NoFile(String),
    /// The core refuses something, or a simulation did not end well.
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

/// An exception's class, its sentence, what it concerns, and what to do.
struct Told {
    class: &'static str,
    what: String,
    place: String,
    todo: &'static str,
}

/// The Python exception of a failure.
pub fn raise(py: Python<'_>, failure: Failure) -> PyErr {
    exception(py, told(failure)).unwrap_or_else(|error| error)
}

fn exception(py: Python<'_>, told: Told) -> PyResult<PyErr> {
    let class = py.import("schedlab.simulation.errors")?.getattr(told.class)?;
    let words = PyDict::new(py);
    words.set_item("where", told.place)?;
    words.set_item("todo", told.todo)?;
    Ok(PyErr::from_value(class.call((told.what,), Some(&words))?))
}

/// What the system says, without Rust's number behind it.
fn sentence(error: &std::io::Error) -> String {
    let text = error.to_string();
    format!("cannot be written: {}", text.split(" (os error").next().unwrap_or(&text))
}

fn told(failure: Failure) -> Told {
    let new = |class, what: String, place: &str, todo| Told { class, what, place: place.to_owned(), todo };
    let error = match failure {
        Failure::Json(error) => {
            let todo = "'schedload show WORKLOAD' prints a program as it has to look";
            return new("ProgramError", format!("is not a program: {error}"), "program", todo);
        }
        Failure::RtApp(error) => {
            let todo = "a program as 'schedload show' prints it has a key \"schema\"; anything else is read as rt-app's JSON";
            return new("ProgramError", error.to_string(), "rt-app", todo);
        }
        Failure::NoFile(reason) => return new("SettingRefused", reason, "proc", ""),
        Failure::Core(error) => error,
        Failure::Timeline(error) => return new("TimelineError", sentence(&error), "timeline", ""),
    };
    let text = error.to_string();
    match error {
        SimError::Definition { what: "horizon", .. } => new("SettingRefused", text, "", ""),
        SimError::Definition { .. } | SimError::Machine { .. } | SimError::Unknown { .. } => new(
            "ModelError",
            text,
            "",
            "'schedlab machines show NAME' and 'schedlab kernels show NAME' print whole definitions",
        ),
        SimError::NoTunable { .. } | SimError::TunableRange { .. } => {
            new("SettingRefused", text, "", "'schedlab kernels show NAME' prints a kernel model's tunables")
        }
        SimError::CommandLine { .. } | SimError::Attributes { .. } => new("SettingRefused", text, "", ""),
        SimError::Program(_) => new("ProgramError", text, "program", ""),
        SimError::Deadlock { .. } => {
            new("Deadlock", text, "program", "every wait needs somebody who ends it: look at those who wait")
        }
        SimError::Task { .. } => new("TaskFailed", text, "program", ""),
    }
}
