//! Checks of names: unique within a kind, and defined where a name is used.

use std::collections::HashSet;

use crate::error::ProgramError;
use crate::program::{Program, Resource, each_kind};

/// Refuse two definitions of one kind with the same name.
pub fn unique(program: &Program) -> Result<(), ProgramError> {
    let r = &program.resources;
    each_kind!(r, list => resources(list)?);
    distinct("timer", r.timers.iter().map(String::as_str))?;
    distinct("counter", program.counters.iter().map(String::as_str))?;
    distinct("series", program.series.iter().map(String::as_str))?;
    distinct("group", program.groups.iter().map(|group| group.name.as_str()))?;
    distinct("metric", program.metrics.iter().map(|metric| metric.name.as_str()))
}

fn resources<R: Resource>(resources: &[R]) -> Result<(), ProgramError> {
    distinct(R::KIND, resources.iter().map(Resource::name))
}

fn distinct<'a>(kind: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), ProgramError> {
    let mut previous = HashSet::new();
    for name in names {
        if !previous.insert(name) {
            return Err(ProgramError::Duplicate { kind, name: name.to_owned() });
        }
    }
    Ok(())
}

/// Position of `name` among `defined`.
pub fn find(kind: &'static str, place: &str, defined: &[String], name: &str) -> Result<usize, ProgramError> {
    defined.iter().position(|each| each == name).ok_or_else(|| ProgramError::Unknown {
        place: place.to_owned(),
        kind,
        name: name.to_owned(),
        known: listed(defined.iter().map(String::as_str)),
    })
}

/// Position of the resource `name` in its list.
pub fn find_resource<R: Resource>(place: &str, defined: &[R], name: &str) -> Result<usize, ProgramError> {
    defined.iter().position(|each| each.name() == name).ok_or_else(|| ProgramError::Unknown {
        place: place.to_owned(),
        kind: R::KIND,
        name: name.to_owned(),
        known: listed(defined.iter().map(Resource::name)),
    })
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
