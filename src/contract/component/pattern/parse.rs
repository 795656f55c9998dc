//! Text to a pattern: what the profile admits, and why it refuses the rest.

use super::{Atom, Pattern, Repeated, Set};

/// Repetition bounds may go up to here.
const MAX_REPETITION: usize = 1024;

const DIGIT: &[(char, char)] = &[('0', '9')];
const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
/// White space and line terminators as ECMAScript has them.
const SPACE: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];
const LINE_TERMINATOR: &[(char, char)] = &[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What of it the profile does not admit.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !text.is_ascii() {
            return Err("it holds a character that is not ASCII");
        }
        let mut rest: &[u8] = text.as_bytes();
        let mut pattern = Self {
            atoms: Vec::new(),
            repeated: None,
        };
        while let [first, tail @ ..] = rest {
            rest = tail;
            let atom = match first {
                b'^' => Atom::Start,
                b'$' => Atom::End,
                b'.' => Atom::Set(Set::of(LINE_TERMINATOR, true)),
                b'[' => Atom::Set(class(&mut rest)?),
                b'\\' => Atom::Set(match escape(&mut rest)? {
                    Escape::Char(c) => Set::of(&[(c, c)], false),
                    Escape::Set(ranges, negated) => Set::of(ranges, negated),
                }),
                b'(' | b')' => return Err("it holds a group"),
                b'|' => return Err("it holds an alternation"),
                b'*' | b'+' | b'?' | b'{' => {
                    return Err("a quantifier follows nothing it could repeat");
                }
                b'}' | b']' => return Err("a closing bracket stands alone"),
                literal => Atom::Set(Set::of(
                    &[(char::from(*literal), char::from(*literal))],
                    false,
                )),
            };
            let quantifier = quantifier(&mut rest)?;
            if let Some((least, most)) = quantifier {
                if !matches!(atom, Atom::Set(_)) {
                    return Err("a quantifier follows an anchor");
                }
                let repeated = Repeated {
                    atom: pattern.atoms.len(),
                    least,
                    most,
                };
                if pattern.repeated.replace(repeated).is_some() {
                    return Err("more than one atom is quantified");
                }
            }
            pattern.atoms.push(atom);
        }
        if pattern.repeated.is_some() && pattern.atoms.first() != Some(&Atom::Start) {
            return Err("a pattern with a quantifier has to begin with `^`");
        }
        Ok(pattern)
    }
}

enum Escape {
    Char(char),
    Set(&'static [(char, char)], bool),
}

/// The escape behind a backslash.
fn escape(rest: &mut &[u8]) -> Result<Escape, &'static str> {
    let [escaped, tail @ ..] = *rest else {
        return Err("it ends in a backslash");
    };
    *rest = tail;
    Ok(match escaped {
        b'd' => Escape::Set(DIGIT, false),
        b'D' => Escape::Set(DIGIT, true),
        b'w' => Escape::Set(WORD, false),
        b'W' => Escape::Set(WORD, true),
        b's' => Escape::Set(SPACE, false),
        b'S' => Escape::Set(SPACE, true),
        b't' => Escape::Char('\t'),
        b'n' => Escape::Char('\n'),
        b'r' => Escape::Char('\r'),
        b'f' => Escape::Char('\u{c}'),
        b'v' => Escape::Char('\u{b}'),
        b'b' | b'B' => return Err("it holds a word-boundary escape"),
        b'p' | b'P' | b'u' | b'x' | b'c' | b'k' => {
            return Err("it holds an escape outside the profile");
        }
        b'0'..=b'9' => return Err("it holds a backreference"),
        punctuation if punctuation.is_ascii_punctuation() => Escape::Char(char::from(*punctuation)),
        _ => return Err("it holds an unknown escape"),
    })
}

/// The class behind an opening bracket.
fn class(rest: &mut &[u8]) -> Result<Set, &'static str> {
    const OPEN: &str = "a class is not closed";
    let negated = rest.first() == Some(&b'^');
    if negated {
        *rest = &rest[1..];
    }
    let mut ranges = Vec::new();
    loop {
        let from = match member(rest, OPEN)? {
            None => return Ok(Set { negated, ranges }),
            Some(Escape::Set(set, false)) => {
                ranges.extend_from_slice(set);
                if rest.first() == Some(&b'-') && rest.get(1) != Some(&b']') {
                    return Err("a range begins with a class");
                }
                continue;
            }
            Some(Escape::Set(set, true)) => {
                ranges.extend(complement(set));
                continue;
            }
            Some(Escape::Char(c)) => c,
        };
        if rest.first() != Some(&b'-') || rest.get(1) == Some(&b']') {
            ranges.push((from, from));
            continue;
        }
        *rest = &rest[1..];
        match member(rest, OPEN)? {
            Some(Escape::Char(to)) if from <= to => ranges.push((from, to)),
            Some(Escape::Char(_)) => return Err("a range runs backwards"),
            Some(Escape::Set(..)) => return Err("a range ends in a class"),
            None => return Err(OPEN),
        }
    }
}

/// One member of a class; nothing at its end.
fn member(rest: &mut &[u8], open: &'static str) -> Result<Option<Escape>, &'static str> {
    let [first, tail @ ..] = *rest else {
        return Err(open);
    };
    *rest = tail;
    Ok(match first {
        b']' => None,
        b'\\' => Some(escape(rest)?),
        literal => Some(Escape::Char(char::from(*literal))),
    })
}

/// Everything outside ascending `ranges`.
fn complement(ranges: &[(char, char)]) -> Vec<(char, char)> {
    let mut next = Some('\0');
    let mut gaps = Vec::new();
    for (from, to) in ranges {
        if let Some(start) = next {
            // The characters of these constants are far from the surrogates, so a predecessor exists.
            gaps.extend(char::from_u32(u32::from(*from) - 1).map(|end| (start, end)));
        }
        next = char::from_u32(u32::from(*to) + 1);
    }
    gaps.extend(next.map(|start| (start, char::MAX)));
    gaps
}

/// The quantifier that follows an atom, if one does; lazy or greedy decides nothing here.
fn quantifier(rest: &mut &[u8]) -> Result<Option<(usize, Option<usize>)>, &'static str> {
    let (bounds, taken) = match rest.first() {
        Some(b'*') => ((0, None), 1),
        Some(b'+') => ((1, None), 1),
        Some(b'?') => ((0, Some(1)), 1),
        Some(b'{') => {
            let end = rest
                .iter()
                .position(|byte| *byte == b'}')
                .ok_or("a repetition is not closed")?;
            (repetition(&rest[1..end])?, end + 1)
        }
        _ => return Ok(None),
    };
    *rest = &rest[taken..];
    if rest.first() == Some(&b'?') {
        *rest = &rest[1..];
    }
    Ok(Some(bounds))
}

/// `n`, `n,` or `n,m`.
fn repetition(inner: &[u8]) -> Result<(usize, Option<usize>), &'static str> {
    let number = |digits: &[u8]| {
        std::str::from_utf8(digits)
            .ok()
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .ok_or("a repetition is no number")?
            .parse()
            .ok()
            .filter(|count| *count <= MAX_REPETITION)
            .ok_or("a repetition exceeds 1024")
    };
    match inner.iter().position(|byte| *byte == b',') {
        None => number(inner).map(|count| (count, Some(count))),
        Some(comma) => {
            let least = number(&inner[..comma])?;
            match &inner[comma + 1..] {
                [] => Ok((least, None)),
                most => match number(most)? {
                    most if most < least => Err("a repetition runs backwards"),
                    most => Ok((least, Some(most))),
                },
            }
        }
    }
}
