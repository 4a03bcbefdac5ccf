//! `schedload list`: the workloads with their parameters and metrics.

use schedlab_workload::library::{Definition, MetricDefinition, Parameter};
use schedlab_workload::program::Better;
use serde_json::{Value, json};

use crate::error::LoadError;
use crate::output;

pub(super) fn execute(definitions: &[Definition], json: bool) -> Result<(), LoadError> {
    if json {
        let programs = definitions.iter().map(entry).collect::<Vec<_>>();
        return output::print_json(&json!({ "schema": 1, "programs": programs }));
    }
    output::print(&definitions.iter().flat_map(lines).collect::<Vec<_>>())
}

fn entry(definition: &Definition) -> Value {
    let parameter = |parameter: &Parameter| {
        let mut entry = json!({ "option": option(parameter), "about": parameter.summary });
        if let Some(default) = default(parameter) {
            entry["default"] = default.into();
        }
        entry
    };
    let metric = |metric: &MetricDefinition| json!({ "name": metric.name, "unit": metric.unit, "direction": metric.direction });
    json!({
        "name": definition.command,
        "about": definition.summary,
        "parameters": definition.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "metrics": definition.metrics.iter().map(metric).collect::<Vec<_>>(),
    })
}

fn option(parameter: &Parameter) -> String {
    format!("--{}", parameter.option)
}

/// Default of an option as text; `None` without a default, and for switches.
fn default(parameter: &Parameter) -> Option<String> {
    parameter.default.as_ref().filter(|default| !default.is_boolean()).map(|default| parameter.show(default))
}

fn lines(definition: &Definition) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", definition.command, definition.summary)];
    for parameter in &definition.parameters {
        let default = default(parameter).map(|value| format!(" [{value}]")).unwrap_or_default();
        lines.push(format!("  {:<24} {}{default}", option(parameter), parameter.summary));
    }
    for metric in &definition.metrics {
        let direction = match metric.direction {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
        };
        lines.push(format!("  -> {:<21} {}, {direction}", metric.name, metric.unit));
    }
    lines
}
