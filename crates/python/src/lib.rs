//! The simulator and the registry of native workloads for Python: text and plain values in, plain values out.
//!
//! ```text
//! machine, kernel (TOML), program (JSON) ─► setup ─► Simulation::run, without the GIL ─► outcome ─► dict
//! settings (dict)                              └───────────── error ─────────────► schedlab.simulation.errors
//! ```
//! This crate makes no decisions: defaults of settings and data frames belong to Python, workloads to
//! `schedlab_workload::library`.

mod error;
mod interruptions;
mod outcome;
mod setup;
mod timeline;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use schedlab_workload::{Program, library, rtapp};

use crate::error::raise;
use crate::setup::{Settings, kernel_of, machine_of, simulation};

/// Simulate a program and return its outcome; see `schedlab.extension` for the keys. A timeline is written to
/// a file while the simulation runs; the interruptions of `watched` CPUs are part of the outcome.
#[pyfunction]
#[pyo3(signature = (machine, kernel, program, settings, timeline=None, watched=None))]
fn run<'py>(
    py: Python<'py>,
    machine: &str,
    kernel: &str,
    program: &str,
    settings: Settings,
    timeline: Option<PathBuf>,
    watched: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyDict>> {
    let pids = settings.pids.clone();
    let mut interrupted = None;
    let simulated = py.detach(|| {
        let simulation = simulation(machine, kernel, program, settings)?;
        let outcome = match (timeline, watched) {
            (Some(path), _) => timeline::run(&simulation, &path)?,
            (None, Some(cpus)) => {
                let mut observer = interruptions::observer(&simulation, &cpus);
                let outcome = simulation.run_observed(&mut observer)?;
                interrupted = Some(observer);
                outcome
            }
            (None, None) => simulation.run()?,
        };
        Ok((simulation, outcome))
    });
    let (simulation, outcome) = simulated.map_err(|error| raise(py, error))?;
    let interrupted = interrupted.map(|observer| interruptions::plain(&simulation, observer));
    let outcome = outcome::to_dict(py, &simulation, &pids, outcome)?;
    outcome.set_item("interruptions", interrupted)?;
    Ok(outcome)
}

/// Raise the exception that `run` would raise before the simulation begins.
#[pyfunction]
fn check(py: Python<'_>, machine: &str, kernel: &str, program: &str, settings: Settings) -> PyResult<()> {
    let checked = py.detach(|| simulation(machine, kernel, program, settings).map(drop));
    checked.map_err(|error| raise(py, error))
}

/// The program that an rt-app document makes, as JSON, and notes on the parts of the document that have no effect.
#[pyfunction]
fn read_rt_app(py: Python<'_>, name: &str, text: &str) -> PyResult<(String, Vec<String>)> {
    let reading = rtapp::read(name, text, None).map_err(|error| raise(py, error.into()))?;
    let program = serde_json::to_string(&reading.program).map_err(|error| raise(py, error.into()))?;
    Ok((program, reading.notes))
}

/// A program with another program beside it as a load, whose groups have names that begin with `prefix`; both as JSON.
/// ValueError says what the programs cannot have together.
#[pyfunction]
fn beside(program: &str, load: &str, prefix: &str) -> PyResult<String> {
    let read = |text| serde_json::from_str::<Program>(text).map_err(value_error);
    let both = read(program)?.beside_as(read(load)?, prefix).map_err(value_error)?;
    serde_json::to_string(&both).map_err(value_error)
}

/// All native workloads as a JSON list of `schedlab_workload::library::Definition`.
#[pyfunction]
fn workloads() -> PyResult<String> {
    serde_json::to_string(&library::workloads()).map_err(value_error)
}

/// Make a native workload's program for a machine of `cpus` CPUs from the parameters of a JSON object.
///
/// Return the program as JSON, the arguments with which `schedload` runs the program, and an estimate of the
/// seconds that a run takes. ValueError names the parameter that is wrong.
#[pyfunction]
fn native_program(name: &str, parameters: &str, cpus: u32) -> PyResult<(String, Vec<String>, f64)> {
    let definition = library::workloads().into_iter().find(|workload| workload.name == name);
    let workload = definition.ok_or_else(|| value_error(format!("no native workload is called `{name}`")))?;
    let parameters = serde_json::from_str(parameters).map_err(value_error)?;
    let prepared = workload.prepare(parameters, cpus).map_err(value_error)?;
    let program = serde_json::to_string(&prepared.program).map_err(value_error)?;
    Ok((program, workload.arguments(&prepared.parameters), prepared.seconds))
}

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Raise an exception if a machine's definition is not valid.
#[pyfunction]
fn check_machine(py: Python<'_>, text: &str) -> PyResult<()> {
    machine_of(text).map(drop).map_err(|error| raise(py, error))
}

/// Raise an exception if a kernel model's definition is not valid.
#[pyfunction]
fn check_kernel(py: Python<'_>, text: &str) -> PyResult<()> {
    kernel_of(text).map(drop).map_err(|error| raise(py, error))
}

/// Write a measurement of interruptions, the JSON of `schedlab_timeline::Interruptions`, as a timeline to a file.
#[pyfunction]
fn write_interruptions(py: Python<'_>, path: PathBuf, document: &str) -> PyResult<()> {
    py.detach(|| timeline::write(&path, document)).map_err(|error| raise(py, error))
}

/// Names and TOML texts of the shipped machines.
#[pyfunction]
fn machines() -> BTreeMap<&'static str, &'static str> {
    schedlab_sim::machine_files().iter().copied().collect()
}

/// Names and TOML texts of the shipped kernel models.
#[pyfunction]
fn kernels() -> BTreeMap<&'static str, &'static str> {
    schedlab_sim::kernel_files().iter().copied().collect()
}

/// The extension module `schedlab._sim`.
#[pymodule]
fn _sim(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(beside, module)?)?;
    module.add_function(wrap_pyfunction!(read_rt_app, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(native_program, module)?)?;
    module.add_function(wrap_pyfunction!(check_machine, module)?)?;
    module.add_function(wrap_pyfunction!(check_kernel, module)?)?;
    module.add_function(wrap_pyfunction!(write_interruptions, module)?)?;
    module.add_function(wrap_pyfunction!(machines, module)?)?;
    module.add_function(wrap_pyfunction!(kernels, module)?)?;
    Ok(())
}
