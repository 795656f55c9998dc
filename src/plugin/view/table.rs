//! Tables as kubectl prints them: a header in capitals, and columns three blanks apart.

use std::io::Write;

use tabwriter::TabWriter;

/// `rows` under `header`. Cells may hold colours; what comes from an object went through [`super::plain`].
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut writer = TabWriter::new(Vec::new()).padding(3).ansi(true);
    let lines = std::iter::once(header.join("\t")).chain(rows.iter().map(|row| row.join("\t")));
    for line in lines {
        writeln!(writer, "{line}").expect("memory takes it");
    }
    let bytes = writer.into_inner().expect("memory takes it");
    let text = String::from_utf8(bytes).expect("it was text");
    let lines = text.lines().map(str::trim_end);
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::view::style::{GOOD, paint};

    #[test]
    fn columns_stand_three_blanks_apart_and_colours_take_no_room() {
        let rows = [
            vec!["wiki".to_owned(), paint(GOOD, "True"), "1".to_owned()],
            vec!["a".to_owned(), "Unknown".to_owned(), String::new()],
        ];
        let shown = table(&["NAME", "READY", "RECORD"], &rows);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let expected = "NAME   READY     RECORD\nwiki   True      1\na      Unknown\n";
        assert_eq!(shown, expected);
    }
}
