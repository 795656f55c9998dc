//! `completion`: scripts that complete the command line in a shell, and the helper by which kubectl completes its plugins.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::aot::{Shell, generate};

use super::output::print;
use super::{NAME, Plugin, complete};

/// Print a script that completes the command line.
///
/// `kubectl` prints the helper that kubectl's own completion asks for plugins: put it into the PATH, executable, as
/// kubectl_complete-installation. It completes names, parameters and versions from the cluster, too. The others complete
/// kubectl-installation where it is called by that name.
#[derive(Clone, Copy, Debug, Args)]
pub struct Completion {
    /// For whom.
    #[arg(value_enum, value_name = "SHELL")]
    of: Completer,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Completer {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
    /// PowerShell.
    #[value(name = "powershell")]
    PowerShell,
    /// The helper kubectl_complete-installation.
    Kubectl,
}

impl Completion {
    /// Runs the verb.
    ///
    /// # Errors
    /// When nobody reads.
    pub fn run(self) -> anyhow::Result<()> {
        print(&script(self.of))
    }
}

fn script(of: Completer) -> String {
    let shell = match of {
        Completer::Bash => Shell::Bash,
        Completer::Zsh => Shell::Zsh,
        Completer::Fish => Shell::Fish,
        Completer::PowerShell => Shell::PowerShell,
        Completer::Kubectl => return helper(),
    };
    let mut script = Vec::new();
    let mut command = Plugin::command().bin_name(NAME);
    generate(shell, &mut command, NAME, &mut script);
    let script = String::from_utf8(script).expect("scripts are text");
    match of {
        // clap_complete 4.6 spells a dash of the program's name one way where it sets a verb and another where it looks it
        // up, so that options of verbs would never be offered.
        Completer::Bash => script.replace("kubectl__subcmd__installation", "kubectl__installation"),
        _ => script,
    }
}

/// What kubectl runs with the words so far, and reads candidates from.
fn helper() -> String {
    let verb = complete::VERB;
    format!(
        "#!/bin/sh\n# kubectl runs this to complete `kubectl installation`.\nexec {NAME} {verb} -- \"$@\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_verbs() {
        for of in Completer::value_variants() {
            let script = script(*of);
            assert!(script.contains("kubectl-installation"), "{of:?}");
            let knows = script.contains("rollback") || matches!(of, Completer::Kubectl);
            assert!(knows, "{of:?}");
        }
    }
}
