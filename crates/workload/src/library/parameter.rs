//! Parameters as data: names, ranges, defaults and documentation, read from the JSON schema of a parameter struct.
//!
//! [`parameters!`] declares a struct of parameters: serde names them in experiment files, schemars has their ranges. The
//! schema has four more keys, which `#[schemars(extend(…))]` adds:
//!
//! | key | where | meaning |
//! |---|---|---|
//! | `unit` | field | unit of the number; `ns` makes the parameter a time, which people write with a unit (`100us`) |
//! | `short`, `long` | field | options of the command line; `long` is the name with hyphens by default |
//! | `instead_of` | field | parameters that cannot be given together with this parameter |
//! | `flag` | value of an enum | options that choose this value: `T/threads` is `-T` and `--threads` |

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::duration::nanoseconds;
use crate::error::ParameterError;
use crate::program::Window;

/// Name of the parameter of every workload that names another workload to run beside it.
pub(super) const BESIDE: &str = "beside";

/// Largest number of tasks, clients or pairs that a workload accepts.
pub(super) const MAX_TASKS: u32 = 100_000;

/// Longest computation, sleep or threshold that a workload accepts, in nanoseconds.
const MAX_TIME_NS: u64 = 1000 * 1_000_000_000;

/// Declare a struct of parameters, each with its default.
///
/// `pub struct Name, timed { … }` adds the parameters `warmup` and `duration` for a workload that runs for a time.
macro_rules! parameters {
    (
        $(#[$documentation:meta])*
        pub struct $name:ident, timed { $($fields:tt)* }
    ) => {
        parameters! {
            $(#[$documentation])*
            pub struct $name {
                $($fields)*
                // Connections, page tables and frequencies settle well within 1 s.
                /// Time before the recorded part.
                #[serde(rename = "warmup")]
                #[schemars(with = "Warmup")]
                pub warmup_ns: u64 = 1_000_000_000,
                /// Length of the recorded part.
                #[serde(rename = "duration")]
                #[schemars(with = "Duration")]
                pub duration_ns: u64 = 10_000_000_000,
            }
        }

        impl $name {
            fn window(&self) -> Option<Window> {
                Some(Window { warmup_ns: self.warmup_ns, duration_ns: self.duration_ns })
            }
        }
    };
    (
        $(#[$documentation:meta])*
        pub struct $name:ident {
            $($(#[$attribute:meta])* pub $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$attribute])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            /// The program; an error names the parameter that is out of range.
            pub fn program(&self) -> Result<Program, ParameterError> {
                check_fields(self)?;
                self.build()
            }
        }
    };
}
pub(super) use parameters;

/// Values of parameters by name; times in nanoseconds.
pub type Values = Map<String, Value>;

/// A parameter of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// Key in experiment files.
    pub name: String,
    /// One line of documentation.
    pub summary: String,
    /// Accepted values.
    #[serde(flatten)]
    pub kind: Kind,
    /// Default value, times as text; `None` for an optional parameter.
    pub default: Option<Value>,
    /// Long option of the command line, without hyphens.
    #[serde(skip)]
    pub option: String,
    /// Short option of the command line.
    #[serde(skip)]
    pub short: Option<char>,
    /// Parameters that cannot be given together with this parameter.
    #[serde(skip)]
    pub instead_of: Vec<String>,
}

/// Accepted values of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number from `minimum` to `maximum`, both included.
    Number { minimum: u64, maximum: u64, unit: Option<String> },
    /// A time from `minimum` to `maximum`, both included; `seconds` where a number without a unit means seconds.
    Time {
        #[serde(serialize_with = "time_as_text")]
        minimum: u64,
        #[serde(serialize_with = "time_as_text")]
        maximum: u64,
        seconds: bool,
    },
    /// A name from a list of names.
    Choice { choices: Vec<Choice> },
    /// A workload and its parameters, such as `hackbench groups=2`.
    Workload,
}

/// A name that a parameter may have as its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// The name.
    pub name: String,
    /// One line of documentation.
    pub summary: String,
    /// Short and long option that choose this value.
    #[serde(skip)]
    pub flag: Option<(char, String)>,
}

/// The parameters that a struct declares, in its order.
pub(super) fn parameters_of<T: Default + Serialize + JsonSchema>() -> Vec<Parameter> {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let fields = schema.get("properties").and_then(Value::as_object);
    // The schema sorts its properties; the JSON text of a struct keeps the order of declaration.
    let text = serde_json::to_string(&T::default()).unwrap_or_default();
    let mut parameters: Vec<Parameter> =
        fields.into_iter().flatten().map(|(name, field)| parameter(name, field)).collect();
    parameters.sort_by_key(|parameter| text.find(&format!("\"{}\":", parameter.name)));
    parameters
}

fn parameter(name: &str, field: &Value) -> Parameter {
    let text = |key: &str| field[key].as_str().map(str::to_owned);
    let bound = |key: &str, other| field[key].as_u64().unwrap_or(other);
    let (minimum, maximum) = (bound("minimum", 0), bound("maximum", u64::MAX));
    let choices = |values: &Value| values.as_array().into_iter().flatten().map(choice).collect();
    let kind = match (text("unit"), &field["oneOf"]) {
        (_, values @ Value::Array(_)) => Kind::Choice { choices: choices(values) },
        (Some(unit), _) if unit == "ns" => {
            Kind::Time { minimum, maximum, seconds: field["seconds"] == Value::Bool(true) }
        }
        _ if field["type"] == "boolean" => Kind::Flag,
        (unit, _) => Kind::Number { minimum, maximum, unit },
    };
    let default = field.get("default").filter(|value| !value.is_null());
    let default = default.map(|value| match (&kind, value.as_u64()) {
        (Kind::Time { .. }, Some(ns)) => time(ns).into(),
        _ => value.clone(),
    });
    let summary = match &kind {
        Kind::Number { unit: Some(unit), .. } if unit != "bytes" => format!("{}, in {unit}", one_line(field)),
        _ => one_line(field),
    };
    Parameter {
        name: name.to_owned(),
        summary,
        kind,
        default,
        option: text("long").unwrap_or_else(|| name.replace('_', "-")),
        short: field["short"].as_str().and_then(|short| short.chars().next()),
        instead_of: serde_json::from_value(field["instead_of"].clone()).unwrap_or_default(),
    }
}

fn choice(value: &Value) -> Choice {
    let flag = value["flag"].as_str().and_then(|flag| flag.split_once('/'));
    Choice {
        name: value["const"].as_str().unwrap_or_default().to_owned(),
        summary: one_line(value),
        flag: flag.and_then(|(short, long)| Some((short.chars().next()?, long.to_owned()))),
    }
}

/// The description of a schema on one line, without its final full stop.
fn one_line(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_suffix('.').map(str::to_owned).unwrap_or(text)
}

/// Check values by name: unknown names, numbers out of range, parameters that exclude each other.
pub fn check(parameters: &[Parameter], values: &Values) -> Result<(), ParameterError> {
    for (name, value) in values {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == *name) else {
            let names = parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>();
            return Err(ParameterError::new(name, value, format!("no such parameter: {}", names.join(", "))));
        };
        parameter.check(value)?;
        if let Some(other) = parameter.instead_of.iter().find(|other| values.contains_key(*other)) {
            return Err(ParameterError::new(name, value, format!("cannot be given together with {other}")));
        }
    }
    Ok(())
}

/// Check the values of a struct of parameters.
pub(super) fn check_fields<T: Default + Serialize + JsonSchema>(fields: &T) -> Result<(), ParameterError> {
    let values = serde_json::to_value(fields).unwrap_or_default();
    parameters_of::<T>().iter().try_for_each(|parameter| parameter.check(&values[&parameter.name]))
}

impl Parameter {
    /// The parameter of every workload that names another workload to run beside it.
    pub(super) fn beside() -> Self {
        Self {
            name: BESIDE.to_owned(),
            summary:
                "Workload that runs beside this one as a load, with its parameters: 'hackbench groups=2'"
                    .to_owned(),
            kind: Kind::Workload,
            default: None,
            option: BESIDE.to_owned(),
            short: None,
            instead_of: Vec::new(),
        }
    }

    /// The value that a text in the notation of experiment files means.
    pub(super) fn read(&self, text: &str) -> Result<Value, ParameterError> {
        let refuse = |reason: String| ParameterError::new(&self.name, text, reason);
        match &self.kind {
            Kind::Flag => {
                text.parse().map(Value::Bool).map_err(|_| refuse("must be true or false".to_owned()))
            }
            Kind::Number { .. } => {
                text.parse::<u64>().map(Value::from).map_err(|_| refuse("must be a whole number".to_owned()))
            }
            Kind::Time { seconds, .. } => {
                let with_unit = if *seconds && text.parse::<f64>().is_ok() {
                    format!("{text}s")
                } else {
                    text.to_owned()
                };
                nanoseconds(&with_unit).map(Value::from).map_err(refuse)
            }
            Kind::Choice { choices } if choices.iter().all(|choice| choice.name != text) => {
                let names = choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>();
                Err(refuse(format!("must be one of {}", names.join(", "))))
            }
            Kind::Choice { .. } | Kind::Workload => Ok(text.into()),
        }
    }

    /// Check that a number lies in the parameter's range; null is a value that is not given.
    fn check(&self, value: &Value) -> Result<(), ParameterError> {
        let Some(number) = value.as_u64() else { return Ok(()) };
        match &self.kind {
            Kind::Number { minimum, maximum, .. } => {
                ParameterError::check(&self.name, number, *minimum..=*maximum)
            }
            Kind::Time { minimum, maximum, .. } if !(minimum..=maximum).contains(&&number) => {
                let reason = format!("must be from {} to {}", time(*minimum), time(*maximum));
                Err(ParameterError::new(&self.name, time(number), reason))
            }
            _ => Ok(()),
        }
    }

    /// A value in the notation of experiment files: times with a unit, names without quotation marks.
    pub fn show(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (Kind::Time { .. }, Value::Number(ns)) => time(ns.as_u64().unwrap_or_default()),
            (_, Value::String(text)) => text.clone(),
            _ => value.to_string(),
        }
    }
}

/// Nanoseconds as a whole number of the largest unit that expresses them exactly, such as `700ns` or `10s`.
fn time(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("ns", 1)];
    let (unit, size) =
        units.into_iter().find(|(_, size)| ns > 0 && ns.is_multiple_of(*size)).unwrap_or(("s", 1));
    format!("{}{unit}", ns / size)
}

fn time_as_text<S: serde::Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&time(*ns))
}

macro_rules! time_schema {
    ($(#[$documentation:meta])* $name:ident, $range:expr, $seconds:expr) => {
        $(#[$documentation])*
        pub(super) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let range = $range;
                json_schema!({
                    "type": "integer", "unit": "ns", "seconds": $seconds,
                    "minimum": range.start(), "maximum": range.end(),
                })
            }
        }
    };
}

time_schema!(
    /// Schema of the length of a warm-up.
    Warmup, Window::WARMUP_NS, true
);
time_schema!(
    /// Schema of the length of the recorded part.
    Duration, Window::DURATION_NS, true
);
time_schema!(
    /// Schema of the interval of a timer. Microseconds are the unit of cyclictest's intervals.
    Interval, 1_000..=MAX_TIME_NS, false
);
time_schema!(
    /// Schema of any other time.
    Time, 0..=MAX_TIME_NS, false
);
