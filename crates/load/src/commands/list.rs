//! `schedload list`: which programs there are, with parameters and metrics.

use clap::{Arg, Args, FromArgMatches, Subcommand};
use serde::Serialize;

use super::program::ProgramCommand;
use crate::error::LoadError;
use crate::output;

/// Lists the programs with their parameters and metrics.
#[derive(Debug, Args)]
pub struct Arguments {}

/// A program of the library.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    about: String,
    parameters: Vec<Parameter>,
    metrics: Vec<MetricEntry>,
}

#[derive(Debug, Serialize)]
struct Parameter {
    option: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    about: String,
}

#[derive(Debug, Serialize)]
struct MetricEntry {
    name: String,
    unit: String,
    direction: schedlab_workload::program::Better,
}

pub(super) fn execute(_: &Arguments, json: bool) -> Result<(), LoadError> {
    let entries = entries()?;
    if json {
        return output::print_json(&serde_json::json!({ "schema": 1, "programs": entries }));
    }
    output::print(&entries.iter().flat_map(lines).collect::<Vec<_>>())
}

/// All programs, from the definitions of the command line and the programs that their defaults give.
fn entries() -> Result<Vec<Entry>, LoadError> {
    let root = ProgramCommand::augment_subcommands(clap::Command::new("schedload"));
    let entry = |command: &clap::Command| {
        let usage = |error: clap::Error| LoadError::Usage(error.to_string());
        let matches = root.clone().try_get_matches_from(["schedload", command.get_name()]).map_err(usage)?;
        let program = ProgramCommand::from_arg_matches(&matches).map_err(usage)?.prepare()?.program;
        let metrics = program.metrics.into_iter().map(|metric| MetricEntry {
            name: metric.name,
            unit: metric.unit,
            direction: metric.direction,
        });
        Ok(Entry {
            name: command.get_name().to_owned(),
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            parameters: command.get_arguments().filter_map(parameter).collect(),
            metrics: metrics.collect(),
        })
    };
    root.get_subcommands().filter(|command| command.get_name() != "help").map(entry).collect()
}

fn parameter(argument: &Arg) -> Option<Parameter> {
    let option = format!("--{}", argument.get_long()?);
    let default: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let takes_value = argument.get_action().takes_values();
    Some(Parameter {
        option: option.clone(),
        default: (takes_value && !default.is_empty()).then(|| default.join(",")),
        about: argument.get_help().map(ToString::to_string).unwrap_or_default(),
    })
    .filter(|_| option != "--help")
}

fn lines(entry: &Entry) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", entry.name, entry.about)];
    for parameter in &entry.parameters {
        let default = parameter.default.as_ref().map(|value| format!(" [{value}]")).unwrap_or_default();
        lines.push(format!("  {:<24} {}{default}", parameter.option, parameter.about));
    }
    for metric in &entry.metrics {
        let direction = match metric.direction {
            schedlab_workload::program::Better::Lower => "lower is better",
            schedlab_workload::program::Better::Higher => "higher is better",
        };
        lines.push(format!("  -> {:<21} {}, {direction}", metric.name, metric.unit));
    }
    lines
}
