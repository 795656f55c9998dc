//! Results as one SARIF 2.1.0 log, for code scanning: a result for each diagnostic and a note for each deferred
//! obligation, at its place in the source. Nothing of a document is quoted, because it may be a secret.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_sarif::sarif;

use super::target::{Checked, Spot};
use crate::contract::rules::{self, Rule};
use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::pointer::Pointer;
use crate::document::result::Deferred;

/// The base that consumers resolve relative paths against: the root of the checkout.
const BASE: &str = "%SRCROOT%";
/// What may stand in a segment of a URI as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Writes the log of `checked`. Paths below `directory` are relative to it, others are absolute.
pub(super) fn print(checked: &[Checked], directory: &Path, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Log {
        directory,
        rules: Rules::default(),
    };
    let results = checked.iter().flat_map(|checked| writer.results(checked));
    let results: Vec<_> = results.collect();
    let driver = sarif::ToolComponent::builder()
        .name(env!("CARGO_PKG_NAME"))
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(writer.rules.described)
        .build();
    let run = sarif::Run::builder()
        .tool(sarif::Tool::builder().driver(driver).build())
        // Diagnostics count characters.
        .column_kind("unicodeCodePoints")
        .results(results)
        .build();
    let log = sarif::Sarif::builder()
        .schema(sarif::SCHEMA_URL)
        .version("2.1.0")
        .runs(vec![run])
        .build();
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

struct Log<'a> {
    directory: &'a Path,
    rules: Rules,
}

impl Log<'_> {
    fn results(&mut self, checked: &Checked) -> Vec<sarif::Result> {
        let result = &checked.validation.result;
        let wrong = result.diagnostics.iter();
        let mut results: Vec<_> = wrong.map(|found| self.finding(checked, found)).collect();
        let missing = result.deferred.iter();
        results.extend(missing.map(|deferred| self.missing(checked, deferred)));
        results
    }

    fn finding(&mut self, checked: &Checked, found: &Diagnostic) -> sarif::Result {
        let spot = checked.spot(&found.path, found.location);
        let related = found.related.iter().map(|related| {
            let message = format!("`{}` of {}", related.path, related.artifact);
            match checked.related(related) {
                Some(spot) => self.location(&spot, &related.path, Some(&message)),
                None => sarif::Location::builder().message(text(&message)).build(),
            }
        });
        let related: Vec<_> = related.collect();
        let result = sarif::Result::builder()
            .rule_id(found.code.as_ref())
            .rule_index(self.rules.of_code(found.code))
            .level(sarif::ResultLevel::Error)
            .message(text(&found.message))
            .locations(vec![self.location(&spot, &found.path, None)]);
        if related.is_empty() {
            result.build()
        } else {
            result.related_locations(related).build()
        }
    }

    fn missing(&mut self, checked: &Checked, deferred: &Deferred) -> sarif::Result {
        let spot = checked.spot(&deferred.path, None);
        sarif::Result::builder()
            .rule_id(deferred.rule.as_ref())
            .rule_index(self.rules.of_id(&deferred.rule))
            .level(sarif::ResultLevel::Note)
            .message(text(&super::human::not_decided(deferred)))
            .locations(vec![self.location(&spot, &deferred.path, None)])
            .build()
    }

    fn location(&self, spot: &Spot<'_>, path: &Pointer, message: Option<&str>) -> sarif::Location {
        let physical = sarif::PhysicalLocation::builder()
            .artifact_location(artifact(&spot.path, self.directory))
            .region(region(spot));
        let mut location = sarif::Location::builder()
            .physical_location(physical.build())
            .build();
        if !path.as_str().is_empty() {
            let logical = sarif::LogicalLocation::builder().fully_qualified_name(path.as_str());
            location.logical_locations = Some(vec![logical.build()]);
        }
        location.message = message.map(text);
        location
    }
}

fn text(text: &str) -> sarif::Message {
    sarif::Message::builder().text(text).build()
}

/// The place, or the first line of a file that is wrong as a whole: code scanning shows nothing without a line.
fn region(spot: &Spot<'_>) -> sarif::Region {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    match spot.location {
        Some(location) => sarif::Region::builder()
            .start_line(count(location.line))
            .start_column(count(location.column))
            .build(),
        None => sarif::Region::builder().start_line(1).build(),
    }
}

fn artifact(path: &Path, directory: &Path) -> sarif::ArtifactLocation {
    if path == Path::new("-") {
        let description = text("standard input");
        return sarif::ArtifactLocation::builder()
            .description(description)
            .build();
    }
    let path = canonical(&directory.join(path));
    match path.strip_prefix(canonical(directory)) {
        Ok(inside) => sarif::ArtifactLocation::builder()
            .uri(encoded(inside))
            .uri_base_id(BASE)
            .build(),
        Err(_) => sarif::ArtifactLocation::builder()
            .uri(format!("file:///{}", encoded(&path)))
            .build(),
    }
}

/// The path without `.` and `..`, by its text.
fn canonical(path: &Path) -> PathBuf {
    let mut canonical = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                canonical.pop();
            }
            component => canonical.push(component),
        }
    }
    canonical
}

fn encoded(path: &Path) -> String {
    let segments = path.components().filter_map(|component| match component {
        Component::Normal(name) => {
            Some(percent_encode(name.as_encoded_bytes(), SEGMENT).to_string())
        }
        _ => None,
    });
    segments.collect::<Vec<_>>().join("/")
}

/// The rules that results name, each described once.
#[derive(Default)]
struct Rules {
    described: Vec<sarif::ReportingDescriptor>,
    indices: BTreeMap<String, i64>,
}

impl Rules {
    fn of_code(&mut self, code: Code) -> i64 {
        self.index(code.as_ref(), || rules::reporting(code).collect())
    }

    fn of_id(&mut self, id: &str) -> i64 {
        self.index(id, || rules::all().filter(|rule| rule.id == id).collect())
    }

    fn index(&mut self, id: &str, behind: impl FnOnce() -> Vec<&'static Rule>) -> i64 {
        if let Some(index) = self.indices.get(id) {
            return *index;
        }
        let index = i64::try_from(self.described.len()).unwrap_or(i64::MAX);
        self.described.push(descriptor(id, &behind()));
        self.indices.insert(id.to_owned(), index);
        index
    }
}

fn descriptor(id: &str, rules: &[&Rule]) -> sarif::ReportingDescriptor {
    let lines = |mark: &str| {
        let line = |rule: &&Rule| format!("- {mark}{}{mark}: {}", rule.id, rule.explanation);
        rules.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let short = rules.first().map_or(id, |rule| rule.explanation);
    let short = sarif::MultiformatMessageString::builder().text(short);
    let help = sarif::MultiformatMessageString::builder()
        .text(lines(""))
        .markdown(lines("**"));
    sarif::ReportingDescriptor::builder()
        .id(id)
        .short_description(short.build())
        .help(help.build())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::target;
    use crate::contract::Published;
    use crate::document::result::Profile;
    use serde_json::{Value, json};

    const BLUEPRINT: &str = "\
specVersion: v1
kind: BLUEPRINT
metadata: { slug: wiki, revision: 1, description: A wiki. }
spec:
  components:
    web:
      componentRef: ./web.yaml
";
    const COMPONENT: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: A site elsewhere. }
spec:
  type: EXTERNAL
  contract:
    outputs:
      token: { schema: { type: string }, description: A token., sensitive: true, from: { value: hunter2 } }
";

    /// The log of `files` under the directory `wiki`, of which `path` is checked.
    #[track_caller]
    fn log(path: &str, files: &[(&str, &str)]) -> Value {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("wiki");
        std::fs::create_dir(&root).expect("a directory");
        for (name, text) in files {
            std::fs::write(root.join(name), text).expect("a file");
        }
        let targets = target::find(&directory.path().join(path)).expect("something to check");
        let checked = targets
            .iter()
            .map(|target| target.check(&Published::default(), Profile::Document));
        let checked: Vec<_> = checked.collect::<io::Result<_>>().expect("files");
        let mut out = Vec::new();
        print(&checked, directory.path(), &mut out).expect("a log");
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn a_finding_stands_at_its_place_and_relates_to_the_component_s() {
        let log = log(
            "wiki",
            &[("blueprint.yaml", BLUEPRINT), ("web.yaml", COMPONENT)],
        );
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["ruleId"], "ERR_INVALID_DEPENDENCY");
        assert_eq!(result["level"], "error");
        assert_eq!(
            result["locations"][0]["physicalLocation"],
            json!({
                "artifactLocation": {"uri": "wiki/blueprint.yaml", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 7, "startColumn": 21},
            })
        );
        let related = &result["relatedLocations"][0];
        assert_eq!(
            related["physicalLocation"]["artifactLocation"]["uri"],
            "wiki/web.yaml"
        );
        assert_eq!(related["physicalLocation"]["region"]["startLine"], 8);
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(!log.to_string().contains("hunter2"), "{log}");
    }

    #[test]
    fn a_deferred_obligation_is_a_note_of_its_rule() {
        let log = log("wiki/alone.yaml", &[("alone.yaml", BLUEPRINT)]);
        let results = log["runs"][0]["results"].as_array().expect("results");
        let notes: Vec<_> = results
            .iter()
            .map(|result| (result["ruleId"].as_str(), result["level"].as_str()))
            .collect();
        assert_eq!(
            notes,
            [
                (Some("CORE-ITEM-001"), Some("note")),
                (Some("BP-REF-002"), Some("note"))
            ]
        );
    }

    #[test]
    fn a_log_without_results_still_says_that_it_ran() {
        let component = COMPONENT.replace("sensitive: true", "sensitive: false");
        let log = log("wiki/web.yaml", &[("web.yaml", &component)]);
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(log["runs"][0]["results"], json!([]));
    }

    #[test]
    fn a_path_below_the_directory_is_relative_and_another_is_absolute() {
        for (path, uri, relative) in [
            ("wiki/blueprint.yaml", "wiki/blueprint.yaml", true),
            ("./wiki/../a b/ü#.yaml", "a%20b/%C3%BC%23.yaml", true),
            ("/here/c:d.yaml", "c%3Ad.yaml", true),
            ("../there/web.yaml", "file:///there/web.yaml", false),
            ("/there/web.yaml", "file:///there/web.yaml", false),
        ] {
            let artifact = artifact(Path::new(path), Path::new("/here"));
            assert_eq!(artifact.uri.as_deref(), Some(uri), "{path}");
            assert_eq!(artifact.uri_base_id.is_some(), relative, "{path}");
        }
    }

    #[test]
    fn every_code_is_described_by_the_rules_that_report_it() {
        let mut rules = Rules::default();
        assert_eq!(rules.of_code(Code::DuplicateKey), 0);
        assert_eq!(rules.of_code(Code::MergeKey), 1);
        assert_eq!(rules.of_code(Code::DuplicateKey), 0);
        let help = rules.described[0].help.as_ref().expect("a help text");
        assert!(help.text.starts_with("- CORE-YAML-006: "), "{}", help.text);
    }
}
