//! The workloads of the library as subcommands, derived from their definitions.

use std::fs;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use schedlab_workload::Program;
use schedlab_workload::duration::nanoseconds;
use schedlab_workload::library::parameter::{Choice, Kind};
use schedlab_workload::library::{Definition, Parameter, Prepared, Values};
use schedlab_workload::measure::Measured;
use serde_json::Value;

use crate::error::LoadError;
use crate::executor::{self, Settings};
use crate::output::{self, Document};
use crate::sys::files::in_path;

/// The subcommand of a workload.
pub fn command(definition: &Definition) -> Command {
    Command::new(definition.command)
        .about(definition.summary.clone())
        .after_help(definition.note.clone())
        .args(definition.parameters.iter().flat_map(arguments))
}

/// The options of a parameter: an option for its value, and an option for each value with a separate option.
fn arguments(parameter: &Parameter) -> Vec<Arg> {
    let named = parameter.name.replace('_', "-");
    let option = Arg::new(parameter.name.clone())
        .long(parameter.option.clone())
        .short(parameter.short)
        .conflicts_with_all(&parameter.instead_of)
        .help(parameter.summary.clone());
    let option = if named == parameter.option { option } else { option.alias(named) };
    let option = match &parameter.default {
        Some(default) if parameter.kind != Kind::Flag => option.default_value(parameter.show(default)),
        _ => option,
    };
    match &parameter.kind {
        Kind::Flag => vec![option.action(ArgAction::SetTrue)],
        Kind::Number { unit, .. } => {
            let unit = unit.as_ref().map_or_else(|| "NUM".to_owned(), |unit| unit.to_uppercase());
            vec![option.value_name(unit).value_parser(value_parser!(u64))]
        }
        Kind::Time { .. } => vec![option.value_name("DURATION").value_parser(nanoseconds)],
        Kind::Workload => vec![option.value_name("WORKLOAD")],
        Kind::Choice { choices } => {
            let names = choices.iter().map(|choice| choice.name.clone()).collect::<Vec<_>>();
            let option = option.value_name(parameter.option.to_uppercase()).value_parser(names);
            let flags = choices.iter().filter_map(|choice| flag(parameter, choice));
            std::iter::once(option).chain(flags).collect()
        }
    }
}

/// The option that chooses one value of a choice; the last of several such options counts.
fn flag(parameter: &Parameter, choice: &Choice) -> Option<Arg> {
    let (short, long) = choice.flag.clone()?;
    let Kind::Choice { choices } = &parameter.kind else { return None };
    let others = choices.iter().filter(|other| other.name != choice.name && other.flag.is_some());
    let others = others.map(|other| flag_id(parameter, other)).chain([parameter.name.clone()]);
    Some(
        Arg::new(flag_id(parameter, choice))
            .short(short)
            .long(long)
            .overrides_with_all(others.collect::<Vec<_>>())
            .action(ArgAction::SetTrue)
            .help(format!("{} ({}={})", choice.summary, parameter.option, choice.name)),
    )
}

fn flag_id(parameter: &Parameter, choice: &Choice) -> String {
    format!("{}={}", parameter.name, choice.name)
}

/// The values on a command line.
fn values_of(definition: &Definition, matches: &ArgMatches) -> Values {
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let value = |parameter: &Parameter| {
        let id = &parameter.name;
        if let Kind::Choice { choices } = &parameter.kind {
            let flagged =
                choices.iter().find(|each| each.flag.is_some() && is_given(&flag_id(parameter, each)));
            if let Some(choice) = flagged {
                return Some(Value::from(choice.name.clone()));
            }
        }
        is_given(id).then(|| match &parameter.kind {
            Kind::Flag => Value::Bool(true),
            Kind::Number { .. } | Kind::Time { .. } => matches.get_one::<u64>(id).copied().into(),
            Kind::Choice { .. } | Kind::Workload => matches.get_one::<String>(id).cloned().into(),
        })
    };
    let values = definition.parameters.iter().map(|parameter| (parameter.name.clone(), value(parameter)));
    values.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The workload with the values of a command line, for the CPUs that this process may use.
pub fn prepare(definition: &Definition, matches: &ArgMatches) -> Result<Prepared, LoadError> {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    Ok(definition.prepare(values_of(definition, matches), cpus)?)
}

/// Run a workload and print its metrics.
pub fn execute(
    definition: &Definition,
    matches: &ArgMatches,
    settings: &Settings,
    json: bool,
) -> Result<(), LoadError> {
    let prepared = prepare(definition, matches)?;
    let _workplace = Workplace::enter(definition.command, &prepared)?;
    let parameters = Value::Object(prepared.parameters);
    perform(prepared.program, parameters, &prepared.heading, definition.lines, settings, json)
}

/// Run a program and print its metrics; `lines` may replace the metrics in the text.
pub fn perform(
    program: Program,
    parameters: Value,
    heading: &[String],
    lines: fn(&[Measured]) -> Option<Vec<String>>,
    settings: &Settings,
    json: bool,
) -> Result<(), LoadError> {
    if !json {
        output::print(heading)?;
    }
    let outcome = executor::run(program.clone(), settings)?;
    if json {
        return output::print_json(&Document::new(&program, parameters, outcome));
    }
    output::print(&lines(&outcome.metrics).unwrap_or_else(|| output::text(&outcome)))
}

/// The directory with a workload's files, removed when dropped.
#[derive(Debug)]
struct Workplace(PathBuf);

impl Workplace {
    /// Change to the directory; `None` for a workload without files. An error names the commands that are
    /// not in `PATH`.
    fn enter(command: &str, prepared: &Prepared) -> Result<Option<Self>, LoadError> {
        let missing: Vec<&str> =
            prepared.commands.iter().copied().filter(|each| in_path(each).is_none()).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(LoadError::Usage(format!(
                "{command} needs commands that are not in PATH: {missing}"
            )));
        }
        if prepared.files.is_empty() {
            return Ok(None);
        }
        let name = format!("schedload-{command}-{}", std::process::id());
        let memory = Path::new("/dev/shm").join(&name);
        let path = match fs::create_dir(&memory) {
            Ok(()) => memory,
            Err(_) => {
                let temporary = std::env::temp_dir().join(&name);
                let failed = LoadError::system(format!("making {}", temporary.display()));
                fs::create_dir(&temporary).map_err(failed)?;
                temporary
            }
        };
        let place = Self(path);
        for (name, contents) in &prepared.files {
            fs::write(place.0.join(name), contents).map_err(LoadError::system(format!("writing {name}")))?;
        }
        let failed = LoadError::system(format!("entering {}", place.0.display()));
        std::env::set_current_dir(&place.0).map_err(failed)?;
        Ok(Some(place))
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
