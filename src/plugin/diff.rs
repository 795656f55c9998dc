//! `diff`: two records against each other, or the current one against what an update would select. It reads records, and
//! what is public of the things that they name; no Secret.

use clap::Args;
use kube::ResourceExt;
use serde_json::json;

use super::ask::refused;
use super::outlook::{Outlook, outlook};
use super::output::{Format, Output, print};
use super::session::{Session, Subject};
use super::view::plain;
use super::view::records::{Difference, differences, heading, lines, version, words};
use crate::api::ResolutionRecord;
use crate::api::condition::ConditionType;
use crate::cli::Ended;

/// Show what differs between two versions, or what an update would select.
///
/// With FROM, and TO or the current version, compares two records, and tells what the versions in between say of themselves:
/// parameters, connections and Platform terms are in no record, so that their names stand there, and never a value. Without
/// FROM, tells what an update would select. Exit status: 0 nothing differs, 1 something does, 2 it cannot be told.
#[derive(Debug, Args)]
pub struct Diff {
    /// The Installation, or the identity of one that is gone.
    name: String,
    /// A version, as `history` tells it.
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,
    /// Another; the current one when left out.
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,
    /// Compare the current version with what an update would select; so it is without FROM.
    #[arg(long, conflicts_with_all = ["from", "to"])]
    update: bool,
    #[command(flatten)]
    output: Output,
}

impl Diff {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the cluster cannot be asked, or a version is not kept.
    pub async fn run(self, session: &Session) -> anyhow::Result<Ended> {
        let subject = session.subject(&self.name).await?;
        let records = session.records(&subject.identity).await?;
        let Some(newest) = records.last() else {
            return Err(match subject.installation {
                Some(_) => anyhow::anyhow!("{} has no record yet", self.name),
                None => session.absent(&self.name),
            });
        };
        match self.from {
            Some(from) => {
                let before = self.pick(&records, from)?;
                let after = match self.to {
                    Some(to) => self.pick(&records, to)?,
                    None => newest,
                };
                compare(&records, before, after, self.output)
            }
            None => self.look_ahead(session, &subject, newest).await,
        }
    }

    fn pick<'a>(
        &self,
        records: &'a [ResolutionRecord],
        number: u64,
    ) -> anyhow::Result<&'a ResolutionRecord> {
        let found = records
            .iter()
            .find(|record| version(record) == Some(number));
        found.ok_or_else(|| {
            let kept = records.iter().filter_map(version);
            let kept: Vec<String> = kept.map(|number| number.to_string()).collect();
            anyhow::anyhow!(
                "{} has no record of version {number}: name one of {}",
                self.name,
                kept.join(", ")
            )
        })
    }

    async fn look_ahead(
        &self,
        session: &Session,
        subject: &Subject,
        current: &ResolutionRecord,
    ) -> anyhow::Result<Ended> {
        let Some(installation) = &subject.installation else {
            return Err(refused(format!(
                "no Installation {} lives, so that nothing would be selected: name two versions to compare",
                self.name
            )));
        };
        let said = installation.condition(ConditionType::UpdateAvailable);
        let said = said.filter(|said| said.status == "True");
        let outlook = outlook(session, installation, current).await?;
        let differs = said.is_some() || !outlook.differences.is_empty();
        if let Some(format) = self.output.format {
            format.print(&json!({
                "current": version(current),
                "operatorSays": said.map(|said| &said.message),
                "differences": outlook.differences,
                "problems": outlook.problems,
                "notCompared": outlook.not_compared,
            }))?;
            return Ok(ended(differs));
        }
        let name = installation.name_any();
        let number = version(current).unwrap_or_default();
        let mut text = heading(&format!(
            "{name}: version {number} against what an update would select"
        ));
        text += "What the operator sees, which compares everything:\n";
        text += &match said {
            Some(said) => format!("  {}\n", plain(&said.message)),
            None => "  nothing pinned has changed, as far as it was looked at\n".to_owned(),
        };
        text += &details(&outlook);
        if differs {
            text += &format!("Select it: kubectl installation update {name}\n");
        }
        print(&text)?;
        Ok(ended(differs))
    }
}

/// What was looked at now, with the caller's rights.
fn details(outlook: &Outlook) -> String {
    let mut text =
        "Read just now with your rights: blueprint, compute profiles, variables:\n".to_owned();
    text += &match outlook.differences.is_empty() {
        true => "  no difference\n".to_owned(),
        false => lines(&outlook.differences),
    };
    for problem in &outlook.problems {
        text += &format!("  ! an update would be refused: {}\n", plain(problem));
    }
    if !outlook.not_compared.is_empty() {
        text += "Not read here:\n";
        for what in &outlook.not_compared {
            text += &format!("  {}\n", plain(what));
        }
    }
    text
}

/// Compares two records, and tells what the versions between them say.
fn compare(
    records: &[ResolutionRecord],
    before: &ResolutionRecord,
    after: &ResolutionRecord,
    output: Output,
) -> anyhow::Result<Ended> {
    let (from, to) = (version(before), version(after));
    let found = differences(&json!(before.spec), &json!(after.spec));
    let between = records.iter().filter(|record| {
        let number = version(record);
        number > from.min(to) && number <= from.max(to)
    });
    let between: Vec<(u64, &str)> = between
        .filter_map(|record| Some((version(record)?, words(record))))
        .collect();
    match output.format {
        Some(format) => print_compared(format, from, to, &between, &found)?,
        None => {
            let number = |number: Option<u64>| number.unwrap_or_default();
            let mut text = heading(&format!("version {} → {}", number(from), number(to)));
            if !between.is_empty() {
                text += "What the versions say of themselves:\n";
            }
            for (number, said) in &between {
                text += &format!("  {number}  {}\n", plain(said));
            }
            text += "What differs in the records:\n";
            text += &match found.is_empty() {
                true => "  nothing\n".to_owned(),
                false => lines(&found),
            };
            print(&text)?;
        }
    }
    Ok(ended(!found.is_empty() || !between.is_empty()))
}

fn print_compared(
    format: Format,
    from: Option<u64>,
    to: Option<u64>,
    between: &[(u64, &str)],
    found: &[Difference],
) -> anyhow::Result<()> {
    let between: Vec<_> = between
        .iter()
        .map(|(version, said)| json!({"version": version, "changed": said}))
        .collect();
    format.print(&json!({"from": from, "to": to, "versions": between, "differences": found}))
}

/// As `kubectl diff` ends.
fn ended(differs: bool) -> Ended {
    Ended::from(!differs)
}
