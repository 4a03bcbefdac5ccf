//! The definition of a workload: a struct of parameters with its program and metrics, and the same as data.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parameter::{self, Parameter, Values};
use crate::error::ParameterError;
use crate::measure::Measured;
use crate::program::{Better, Metric, Program, Quantity, lower};

/// A struct of parameters as a workload.
///
/// The first paragraph of the struct's documentation is the summary of the workload. The other paragraphs are a note for
/// readers of its figures.
pub trait Workload: Default + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// Name in experiment files (`use = "NAME"`).
    const NAME: &'static str;
    /// Subcommand of `schedload`.
    const COMMAND: &'static str = Self::NAME;
    /// Metrics that get a verdict unless an experiment names other metrics.
    const JUDGED: &'static [&'static str];
    /// A metric that is stored with samples, and the metric of the same series that reports these samples.
    /// Other samples are not stored: there are up to 100 000 in a trial.
    const SAMPLES: Option<(&'static str, &'static str)> = None;
    /// Commands that must be in `PATH`.
    const COMMANDS: &'static [&'static str] = &[];

    /// The program, for parameters within their ranges; an error names parameters that do not go together.
    fn build(&self) -> Result<Program, ParameterError>;

    /// Files that must be in the working directory: name and contents.
    fn files() -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Parameters whose programs together have all of the workload's metrics.
    fn examples() -> Vec<Self> {
        vec![Self::default()]
    }

    /// Derives the parameters that depend on the number of CPUs.
    fn resolve(&mut self, _cpus: u32) {}

    /// Estimate of the seconds that a run takes on `cpus` CPUs, without the window.
    fn seconds(&self, _cpus: u32) -> f64 {
        0.1
    }

    /// Lines that are printed before a run.
    fn heading(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lines that are printed after a run instead of the metrics, in the format of the tool that the workload follows.
    fn lines(_metrics: &[Measured]) -> Option<Vec<String>> {
        None
    }
}

/// A workload as data. The command line, the Python adapters and the documentation are derived from this
/// registry.
#[derive(Serialize)]
pub struct Definition {
    /// Name in experiment files.
    pub name: &'static str,
    /// Subcommand of `schedload`.
    pub command: &'static str,
    /// One line of documentation.
    pub summary: String,
    /// Note for readers of the figures; may be empty.
    pub note: String,
    /// Parameters, in the order of the documentation.
    pub parameters: Vec<Parameter>,
    /// Metrics; the first is the headline.
    pub metrics: Vec<MetricDefinition>,
    /// Lines that replace the metrics in the text of a run.
    #[serde(skip)]
    pub lines: fn(&[Measured]) -> Option<Vec<String>>,
    #[serde(skip)]
    prepare: Prepare,
}

type Prepare = Box<dyn Fn(Values, u32) -> Result<Prepared, ParameterError>>;

/// A metric of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricDefinition {
    /// Name.
    pub name: String,
    /// Unit of its values and samples.
    pub unit: String,
    /// Direction of improvement.
    pub direction: Better,
    /// Whether the metric gets a verdict unless an experiment names other metrics.
    pub judged: bool,
    /// Whether the metric is the largest of many values over the window: a worst case.
    pub worst: bool,
    /// The reported metric whose samples are stored with this metric.
    pub samples: Option<String>,
}

/// A workload with values for all of its parameters.
pub struct Prepared {
    /// The program.
    pub program: Program,
    /// The values of all parameters.
    pub parameters: Values,
    /// Estimate of the seconds that a run takes.
    pub seconds: f64,
    /// Lines that are printed before a run.
    pub heading: Vec<String>,
    /// Commands that must be in `PATH`.
    pub commands: Vec<&'static str>,
    /// Files that must be in the working directory: name and contents.
    pub files: Vec<(&'static str, String)>,
}

impl Definition {
    /// Make the program without a workload beside it.
    pub(super) fn prepare_alone(&self, values: Values, cpus: u32) -> Result<Prepared, ParameterError> {
        (self.prepare)(values, cpus)
    }

    /// The arguments with which `schedload` runs the workload with these values.
    pub fn arguments(&self, values: &Values) -> Vec<String> {
        let is_given =
            |parameter: &&Parameter| values.get(&parameter.name).is_some_and(|value| !value.is_null());
        let replaced = |name: &String| {
            let mut others = self.parameters.iter().filter(|other| other.instead_of.contains(name));
            others.any(|other| is_given(&other))
        };
        let mut words = vec![self.command.to_owned()];
        for parameter in self.parameters.iter().filter(is_given).filter(|each| !replaced(&each.name)) {
            match &values[&parameter.name] {
                Value::Bool(true) => words.push(format!("--{}", parameter.option)),
                Value::Bool(false) => {}
                value => words.push(format!("--{}={}", parameter.option, parameter.show(value))),
            }
        }
        words
    }
}

/// The definition of a workload.
pub(super) fn define<T: Workload>() -> Definition {
    let (summary, note) = documentation::<T>();
    let prepare = move |given: Values, cpus: u32| {
        let mut fields: T = serde_json::from_value(Value::Object(given))
            .map_err(|error| ParameterError::new(T::NAME, "parameters", error.to_string()))?;
        parameter::check_fields(&fields)?;
        fields.resolve(cpus);
        let program = fields.build()?;
        let window = program.window.map_or(0.0, |window| window.end_ns() as f64 / 1e9);
        let parameters = serde_json::to_value(&fields).unwrap_or_default();
        Ok(Prepared {
            program,
            parameters: parameters.as_object().cloned().unwrap_or_default(),
            seconds: window + fields.seconds(cpus),
            heading: fields.heading(),
            commands: T::COMMANDS.to_vec(),
            files: T::files(),
        })
    };
    Definition {
        name: T::NAME,
        command: T::COMMAND,
        summary,
        note,
        parameters: parameter::parameters_of::<T>().into_iter().chain([Parameter::beside()]).collect(),
        metrics: metrics::<T>(),
        lines: T::lines,
        prepare: Box::new(prepare),
    }
}

/// The first paragraph of a struct's documentation, and the other paragraphs.
fn documentation<T: Workload>() -> (String, String) {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let (summary, note) = text.split_once("\n\n").unwrap_or((text, ""));
    let plain = |text: &str| text.trim().trim_end_matches('.').replace('\n', " ");
    (plain(summary), plain(note))
}

/// All metrics that the programs of a workload report.
fn metrics<T: Workload>() -> Vec<MetricDefinition> {
    let mut metrics: Vec<MetricDefinition> = Vec::new();
    let programs = T::examples().into_iter().filter_map(|example| example.build().ok());
    for Metric { name, unit, direction, quantity, .. } in programs.flat_map(|program| program.metrics) {
        if metrics.iter().all(|metric| metric.name != name) {
            let judged = T::JUDGED.contains(&name.as_str());
            let samples = T::SAMPLES.filter(|(stored, _)| *stored == name).map(|(_, from)| from.to_owned());
            let worst = matches!(quantity, Quantity::Percentile(_, percent) if percent >= 100.0);
            metrics.push(MetricDefinition { name, unit, direction, judged, worst, samples });
        }
    }
    let judged = metrics.iter().filter(|metric| metric.judged).count();
    debug_assert_eq!(judged, T::JUDGED.len(), "every judged metric of {} is reported", T::NAME);
    metrics
}

/// The mean of a series as `latency`, with its samples, and percentiles as `latency-p50`, `-p99`, `-p99.9`, in µs.
pub(super) fn latency(series: &str) -> Vec<Metric> {
    let mut metrics = vec![lower("latency", "us", Quantity::Mean(series.to_owned()), 1e-3)];
    for percent in [50.0, 99.0, 99.9] {
        metrics.push(latency_percentile(&format!("latency-p{percent}"), series, percent));
    }
    metrics
}

/// A percentile of a series, in µs.
pub(super) fn latency_percentile(name: &str, series: &str, percent: f64) -> Metric {
    lower(name, "us", Quantity::Percentile(series.to_owned(), percent), 1e-3)
}

pub(super) fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}
