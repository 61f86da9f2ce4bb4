//! The first help screen: the commands in groups, by who uses them.

use std::fmt::Write as _;

use clap::Subcommand as _;

use super::Command;

/// The groups and their commands.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Try it, and label votes", &["demo", "explore", "synthesize", "label"]),
    ("Choose a setting", &["analyze", "compare", "recommend", "bound", "tune", "plan"]),
    (
        "Elections between parties",
        &[
            "identity",
            "board",
            "keygen",
            "vote",
            "aggregate",
            "job",
            "reveal",
            "verify",
            "audit",
            "election",
        ],
    ),
    ("Run a server (and the program shield-server)", &["operator"]),
    ("Measure, and set this program up", &["bench", "learn", "generate", "help"]),
];

/// The help screen, with gaps that clap fills.
pub(super) fn template() -> String {
    let mut commands = Command::augment_subcommands(clap::Command::new("shield"));
    commands.build();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "\n{heading}:");
        for name in names {
            let about = commands.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<10}  {about}");
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::commands::Cli;

    #[test]
    fn every_command_is_in_one_group_and_the_screen_fits() {
        let mut program = Cli::command();
        program.build();
        let names: BTreeSet<&str> =
            program.get_subcommands().map(clap::Command::get_name).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(listed.len(), names.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), names);
        let screen = program.render_help().to_string();
        assert!(screen.lines().count() <= 48, "{screen}");
        for line in screen.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
