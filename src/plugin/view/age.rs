//! Ages as kubectl writes them: the two largest units while they say something.

use k8s_openapi::jiff::Timestamp;

/// How long `then` is ago.
pub fn age(then: Option<Timestamp>, now: Timestamp) -> String {
    match then {
        None => "<unknown>".to_owned(),
        Some(then) => duration(now.duration_since(then).as_secs()),
    }
}

fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |large: i64, unit: char, small: i64, of: char| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{of}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, 'd', hours % 24, 'h'),
        () if days < 2 * 365 => format!("{days}d"),
        () if days < 8 * 365 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_reads_as_kubectl_writes_it() {
        for (seconds, expected) in [
            (-5, "0s"),
            (119, "119s"),
            (125, "2m5s"),
            (540, "9m"),
            (3600, "60m"),
            (4 * 3600 + 60, "4h1m"),
            (30 * 3600, "30h"),
            (2 * 86400 + 3600, "2d1h"),
            (90 * 86400, "90d"),
            (3 * 365 * 86400, "3y"),
            (9 * 365 * 86400 + 86400, "9y"),
        ] {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
    }
}
