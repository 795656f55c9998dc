//! Schedules of JOB components and their cron grammar (component §5.7).

use serde::Deserialize;

use super::Spec;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

/// When a JOB runs by itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Schedule {
    /// Five fields, always read in UTC.
    pub cron: String,
}

/// The fields of a schedule and what each may hold.
const FIELDS: [(&str, u32, u32); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 6),
];

pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    let schedule = spec
        .workload
        .as_ref()
        .and_then(|workload| workload.schedule.as_ref());
    if let Some(Err(problem)) = schedule.map(|schedule| fields(&schedule.cron)) {
        findings.push(
            Code::InvalidSchedule,
            Pointer::of(["spec", "workload", "schedule", "cron"]),
            problem,
        );
    }
}

/// Whether each field keeps the grammar: a comma list of `*`, `n` or `a-b`, each with an optional `/step`; numbers only.
fn fields(cron: &str) -> Result<(), String> {
    for ((name, least, most), field) in FIELDS.iter().zip(cron.split_ascii_whitespace()) {
        if !field.split(',').all(|entry| is_entry(entry, *least, *most)) {
            return Err(format!(
                "`{field}` is no {name}; write `*`, numbers from {least} to {most}, ranges and steps such as `{least}-{most}/2`"
            ));
        }
    }
    Ok(())
}

fn is_entry(entry: &str, least: u32, most: u32) -> bool {
    let (range, step) = match entry.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (entry, None),
    };
    let within = |text: &str| number(text).filter(|number| (least..=most).contains(number));
    let is_range = match range.split_once('-') {
        _ if range == "*" => true,
        Some((from, to)) => within(from)
            .zip(within(to))
            .is_some_and(|(from, to)| from <= to),
        None => within(range).is_some(),
    };
    is_range && step.is_none_or(|step| number(step).is_some_and(|step| step >= 1))
}

fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_keep_the_grammar() {
        for (cron, valid) in [
            ("* * * * *", true),
            ("0 3 * * 0", true),
            ("*/15 0-23/2 1,15 1-12 1-5", true),
            ("5/10 * * * *", true),
            ("59 23 31 12 6", true),
            ("60 * * * *", false),
            ("* 24 * * *", false),
            ("* * 0 * *", false),
            ("* * 32 * *", false),
            ("* * * 0 *", false),
            ("* * * 13 *", false),
            ("* * * * 7", false),
            ("* * * JAN *", false),
            ("* * * * MON", false),
            ("5-1 * * * *", false),
            ("*/0 * * * *", false),
            ("*/ * * * *", false),
            (", * * * *", false),
            ("1,,2 * * * *", false),
            ("-1 * * * *", false),
            ("+1 * * * *", false),
            ("? * * * *", false),
            ("L * * * *", false),
            ("1-2-3 * * * *", false),
            ("*-5 * * * *", false),
        ] {
            assert_eq!(fields(cron).is_ok(), valid, "{cron}");
        }
    }
}
