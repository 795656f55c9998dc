//! JSON as YAML. JSON writes a character beyond the basic plane as two escapes, which YAML does not know.

pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// JSON text with each escaped surrogate pair as one YAML escape. In JSON a backslash stands in strings only.
pub(super) fn joined_pairs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit = |from: usize| {
            let digits = rest.get(from..from + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let pair = unit(0).zip(unit(6)).and_then(|(high, low)| {
            char::decode_utf16([high, low])
                .next()?
                .ok()
                .filter(|c| *c > '\u{ffff}')
        });
        let taken = if let Some(c) = pair {
            out.push_str(&format!("\\U{:08X}", u32::from(c)));
            12
        } else {
            let taken = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..taken]);
            taken
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}
