//! Notation of durations: a decimal number and a unit, such as `0.1ms`.
//!
//! Python's `schedlab.notation.units` has the same grammar; `tests/durations.json` lists texts that both parsers must accept or
//! refuse alike.

/// Nanoseconds in each unit.
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The units that error messages name.
const NAMES: &str = "ns, us, ms, s, min, h";

/// The longest duration, 292 years: the largest signed 64-bit number of nanoseconds.
const LONGEST_NS: u64 = i64::MAX as u64;

/// Maximum number of digits after the decimal point of an integer number of nanoseconds: an hour has 2¹³ × 3²
/// × 5¹¹ nanoseconds.
const MOST_DIGITS: usize = 13;

/// Parse a duration into whole nanoseconds; the error describes the expected notation.
///
/// `m` is refused because the unit could mean minutes or milliseconds.
pub fn nanoseconds(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(format!(
            "'{text}' is not a duration: write a number and a unit ({NAMES}), such as 0.1ms"
        ));
    }
    if unit.is_empty() {
        return Err(format!("'{text}' has no unit: write a duration like 0.1ms (units: {NAMES})"));
    }
    if unit == "m" {
        return Err(format!(
            "'{text}' is ambiguous: write {number}min for minutes or {number}ms for milliseconds"
        ));
    }
    let Some((_, unit_ns)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("'{text}' is not a duration: the unit '{unit}' is not one of {NAMES}"));
    };
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > MOST_DIGITS {
        return Err(not_whole(text));
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let part = fraction.parse().unwrap_or(0_u128) * u128::from(*unit_ns);
    if part % scale != 0 {
        return Err(not_whole(text));
    }
    let total =
        whole.parse::<u64>().ok().map(|whole| u128::from(whole) * u128::from(*unit_ns) + part / scale);
    match total {
        Some(ns) if ns <= u128::from(LONGEST_NS) => Ok(ns as u64),
        _ => Err(format!("'{text}' is too long: the longest duration is 292 years")),
    }
}

fn not_whole(text: &str) -> String {
    format!("'{text}' is not a whole number of ns")
}

#[cfg(test)]
#[path = "../tests/unit/duration.rs"]
mod tests;
