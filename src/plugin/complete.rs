//! What kubectl asks when somebody presses the tab key: the words so far, answered by candidates in the form of cobra, which
//! kubectl is made with. Verbs and options are known; names, parameters and versions are read from the cluster, and where
//! that cannot be asked there are none.

use std::collections::BTreeMap;

use clap::{ArgAction, Args, CommandFactory};
use kube::ResourceExt;

use super::Plugin;
use super::output::print;
use super::session::{Connection, Session};
use super::view::records;
use crate::api::Installation;

/// The verb that the helper calls.
pub const VERB: &str = "__complete";

/// Print candidates for the last of WORDS, as kubectl asks.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Complete {
    /// The words so far, the last one unfinished.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The directive to cobra: offer these, and no files.
const NO_FILES: &str = ":4\n";

impl Complete {
    /// Runs the verb.
    ///
    /// # Errors
    /// When nobody reads.
    pub async fn run(self) -> anyhow::Result<()> {
        let (last, before) = match self.words.split_last() {
            Some((last, before)) => (last.as_str(), before),
            None => ("", &[][..]),
        };
        let mut candidates = match wanted(before, last) {
            Wanted::Words(words) => words,
            from_cluster => from_cluster.read(before).await.unwrap_or_default(),
        };
        candidates.retain(|candidate| candidate.starts_with(last));
        let lines: String = candidates
            .iter()
            .map(|candidate| format!("{candidate}\n"))
            .collect();
        print(&(lines + NO_FILES))
    }
}

/// What may stand at the place of the last word.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// One of these.
    Words(Vec<String>),
    /// The name of an Installation.
    Installation,
    /// A parameter of a generated credential of this one.
    Parameter(String),
    /// A version of this one.
    Version(String),
}

/// What may stand behind the words `before`, where it begins with `last`. Pure.
fn wanted(before: &[String], last: &str) -> Wanted {
    let mut root = Plugin::command();
    root.build();
    let mut words = Line::of(&root, before);
    if let Some(values) = words.awaited.take() {
        return Wanted::Words(values);
    }
    let Some(verb) = words.verb else {
        let verbs = root.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs = verbs.map(|verb| verb.get_name().to_owned());
        return Wanted::Words(match last.starts_with('-') {
            true => options(&root),
            false => verbs.collect(),
        });
    };
    if last.starts_with('-') {
        return Wanted::Words(options(&verb));
    }
    let name = words.positions.first().cloned();
    match (verb.get_name(), words.positions.len(), name) {
        ("completion", 0, _) => Wanted::Words(values_of(verb.get_positionals().next())),
        ("completion" | "purge" | "help", ..) => Wanted::Words(Vec::new()),
        (_, 0, _) => Wanted::Installation,
        ("rotate", _, Some(name)) | ("credential", 1, Some(name)) => Wanted::Parameter(name),
        ("rollback", 1, Some(name)) | ("diff", 1 | 2, Some(name)) => Wanted::Version(name),
        _ => Wanted::Words(Vec::new()),
    }
}

/// The words so far, taken apart.
struct Line {
    verb: Option<clap::Command>,
    /// What stands behind the verb and is no option.
    positions: Vec<String>,
    /// What the option that stands last takes as its value, if it takes one.
    awaited: Option<Vec<String>>,
    /// The values of options, by their long names.
    values: BTreeMap<String, String>,
}

impl Line {
    fn of(root: &clap::Command, before: &[String]) -> Self {
        let mut found = Self {
            verb: None,
            positions: Vec::new(),
            awaited: None,
            values: BTreeMap::new(),
        };
        let mut taking: Option<String> = None;
        for word in before {
            found.awaited = None;
            if let Some(option) = taking.take() {
                found.values.insert(option, word.clone());
                continue;
            }
            let command = found.verb.as_ref().unwrap_or(root);
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word.as_str(), None),
            };
            if option.starts_with('-') {
                let mut arguments = command.get_arguments();
                let argument = arguments.find(|argument| is_called(argument, option));
                let argument =
                    argument.filter(|argument| matches!(argument.get_action(), ArgAction::Set));
                let Some(argument) = argument else { continue };
                let name = argument.get_long().unwrap_or_default().to_owned();
                match value {
                    Some(value) => _ = found.values.insert(name, value.to_owned()),
                    None => {
                        found.awaited = Some(values_of(Some(argument)));
                        taking = Some(name);
                    }
                }
            } else if found.verb.is_none() {
                found.verb = root.find_subcommand(word).cloned();
            } else {
                found.positions.push(word.clone());
            }
        }
        found
    }
}

fn is_called(argument: &clap::Arg, word: &str) -> bool {
    let long = argument
        .get_long()
        .is_some_and(|long| word == format!("--{long}"));
    let short = argument
        .get_short()
        .is_some_and(|short| word == format!("-{short}"));
    long || short
}

fn values_of(argument: Option<&clap::Arg>) -> Vec<String> {
    let values = argument
        .map(clap::Arg::get_possible_values)
        .unwrap_or_default();
    values
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect()
}

fn options(command: &clap::Command) -> Vec<String> {
    let options = command.get_arguments().filter_map(clap::Arg::get_long);
    options.map(|long| format!("--{long}")).collect()
}

impl Wanted {
    async fn read(self, before: &[String]) -> anyhow::Result<Vec<String>> {
        let mut root = Plugin::command();
        root.build();
        let line = Line::of(&root, before);
        let session = Connection::of(&line.values).open().await?;
        match self {
            Self::Words(words) => Ok(words),
            Self::Installation => {
                let found = session
                    .api::<Installation>()
                    .list(&Default::default())
                    .await?;
                Ok(found.items.iter().map(ResourceExt::name_any).collect())
            }
            Self::Parameter(name) => {
                let status = session
                    .installation(&name)
                    .await?
                    .status
                    .unwrap_or_default();
                let names = status.credentials.into_iter();
                Ok(names.map(|credential| credential.parameter).collect())
            }
            Self::Version(name) => versions(&session, &name).await,
        }
    }
}

async fn versions(session: &Session, name: &str) -> anyhow::Result<Vec<String>> {
    let subject = session.subject(name).await?;
    let records = session.records(&subject.identity).await?;
    let numbers = records.iter().filter_map(records::version);
    Ok(numbers.map(|number| number.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn each_place_of_the_line_takes_what_the_verb_takes_there() {
        for (before, expected) in [
            ("status", Wanted::Installation),
            ("-n demo status", Wanted::Installation),
            ("rotate wiki", Wanted::Parameter("wiki".into())),
            ("rotate wiki dbPassword", Wanted::Parameter("wiki".into())),
            (
                "credential --namespace demo wiki",
                Wanted::Parameter("wiki".into()),
            ),
            ("rollback wiki", Wanted::Version("wiki".into())),
            ("diff wiki 1", Wanted::Version("wiki".into())),
            ("diff wiki 1 2", Wanted::Words(vec![])),
            (
                "suspend wiki --dry-run",
                Wanted::Words(words("none server")),
            ),
            ("status -o", Wanted::Words(words("json yaml"))),
            ("purge", Wanted::Words(vec![])),
            (
                "completion",
                Wanted::Words(words("bash zsh fish powershell kubectl")),
            ),
        ] {
            assert_eq!(wanted(&words(before), ""), expected, "{before}");
        }
    }

    #[test]
    fn verbs_come_first_and_options_behind_a_dash() {
        let Wanted::Words(verbs) = wanted(&[], "") else {
            panic!("verbs are words");
        };
        assert!(
            verbs.contains(&"status".to_owned()) && !verbs.contains(&VERB.to_owned()),
            "{verbs:?}"
        );
        let Wanted::Words(found) = wanted(&words("update wiki"), "--") else {
            panic!("options are words");
        };
        for option in ["--wait", "--dry-run", "--namespace"] {
            assert!(found.contains(&option.to_owned()), "{found:?}");
        }
    }

    #[test]
    fn an_unfinished_line_says_which_cluster_it_is_about() {
        let mut root = Plugin::command();
        root.build();
        let line = Line::of(&root, &words("rotate wiki --wait -n demo --context=here x"));
        let expected = [("context", "here"), ("namespace", "demo")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(line.values, BTreeMap::from(expected));
        assert_eq!(line.positions, ["wiki", "x"]);
    }
}
