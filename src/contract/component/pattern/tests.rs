//! What the profile admits, and what its patterns match.

use super::*;

#[test]
fn the_profile_admits_a_sequence_with_one_quantified_atom() {
    for (pattern, admitted) in [
        ("", true),
        ("abc", true),
        ("^[a-z][a-z0-9-]*$", true),
        ("^[^/]{1,1024}$", true),
        (r"^\d{4}$", true),
        (r"^\.\-\/$", true),
        ("^a+?$", true),
        ("[a-]", true),
        (r"^[\w.-]+$", true),
        ("a+", false),
        ("^a*b*$", false),
        ("^a{1025}$", false),
        ("^a{2,2}$", true),
        ("^a{2,1}$", false),
        ("^a{+2}$", false),
        ("^a{,3}$", false),
        ("^a**$", false),
        ("(a)", false),
        ("a|b", false),
        ("^(?=a)", false),
        (r"\1", false),
        (r"\bword", false),
        (r"\p{L}", false),
        (r"\u0041", false),
        (r"\a", false),
        ("ä", false),
        ("^*", false),
        ("[z-a]", false),
        ("[a", false),
        ("a]", false),
        ("{", false),
        (r"a\", false),
        (r"[\w-z]", false),
    ] {
        assert_eq!(Pattern::parse(pattern).is_ok(), admitted, "{pattern}");
    }
}

#[test]
fn what_is_outside_the_profile_is_told_apart() {
    for (pattern, reason) in [
        (r"\bword", "it holds a word-boundary escape"),
        (r"\B", "it holds a word-boundary escape"),
        (r"\p{L}", "it holds an escape outside the profile"),
        (r"\u0041", "it holds an escape outside the profile"),
        (r"\1", "it holds a backreference"),
        (r"\a", "it holds an unknown escape"),
    ] {
        assert_eq!(Pattern::parse(pattern), Err(reason), "{pattern}");
    }
}

#[test]
fn matching_is_unanchored_by_code_points_and_case_sensitive() {
    for (pattern, text, expected) in [
        ("", "", true),
        ("b", "abc", true),
        ("B", "abc", false),
        ("^b", "abc", false),
        ("c$", "abc", true),
        ("c$", "abc\n", false),
        ("^.$", "🦀", true),
        ("^.$", "\n", false),
        ("^[^a]$", "é", true),
        ("^a{2,3}$", "aaa", true),
        ("^a{2,3}$", "aaaa", false),
        ("^a{2,}b", "aaaaab!", true),
        ("^a*ab$", "aaab", true),
        ("^a{2,}ab", "aab", false),
        ("^a{2,}ab", "aaab", true),
        ("^a?b$", "b", true),
        (r"^\s$", "\u{a0}", true),
        (r"^\d$", "٣", false),
        (r"^[\D]$", "x", true),
        (r"^[\D]$", "!", true),
        (r"^[\D]$", "0", false),
        (r"^[\D]$", "9", false),
        (r"^[\S]$", "\u{2029}", false),
        (r"^\W$", "-", true),
        (r"^\W$", "_", false),
        (r"^\t\n\r\f\v$", "\t\n\r\u{c}\u{b}", true),
        ("^[a-c-]+$", "a-c", true),
        ("a^b", "ab", false),
    ] {
        let compiled = Pattern::parse(pattern).expect(pattern);
        assert_eq!(compiled.matches(text), expected, "{pattern} in {text:?}");
    }
}

/// The profile's atoms mean the same to `regex`, which knows nothing of the tables here. Line ends are left out: a dot of
/// the profile refuses four of them, one of `regex` only one.
#[test]
fn a_long_text_is_searched_as_a_short_one_is() {
    let texts = ["a", "b", "ab", "aab", "ba"].map(|text| text.repeat(3000));
    let texts = texts.iter().flat_map(|text| {
        let marked = format!("{text}x1{text}");
        [text.clone(), marked]
    });
    let texts: Vec<_> = texts.chain([format!("{}b", "a".repeat(3000))]).collect();
    // More atoms than a word of the search has bits.
    let long = format!("{}b", "a".repeat(100));
    let tied = format!("^{}x", "[ab]".repeat(30));
    let ending = format!("{}$", "[ab]".repeat(70));
    for pattern in [
        "x1a", "bx", "^a", "a$", "aa[bx]", "^a*b", "^a{2,9}x", "^[ab]*x1", "^[ab]+$", "^.*1b",
        "^b?ab", "a^b", "a$b", "^$", "$^", "", "^a*^a", "^[^x]*1", &long, &tied, &ending,
    ] {
        let compiled = Pattern::parse(pattern).expect(pattern);
        let reference = regex::Regex::new(pattern).expect(pattern);
        for text in &texts {
            assert_eq!(
                compiled.matches(text),
                reference.is_match(text),
                "{pattern} in {} of {}",
                text.len(),
                &text[..4]
            );
        }
    }
}
