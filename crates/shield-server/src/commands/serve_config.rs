//! `serve --config FILE`: the flags of `serve` from a file.
//!
//! The file's keys become arguments before the command line is read, so that every flag is one of
//! the file's keys, with the same checks and the same messages.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as _;
use toml::Value;

use super::serve::ServeArgs;

/// The arguments, with those of the file that `--config` names put in. What the command line names
/// itself is not taken from the file.
pub(super) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let words: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let Some(serve) = words.iter().position(|word| word == "serve") else { return Ok(arguments) };
    let Some(path) = config(&arguments[serve..], &words[serve..]) else { return Ok(arguments) };
    let shown = path.display();
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{shown}: {error}"))?;
    let table: toml::Table = text.parse().map_err(|error| format!("{shown}: {error}"))?;
    let command = ServeArgs::augment_args(clap::Command::new("serve"));
    let known = |name: &str| {
        command.get_arguments().find(|argument| argument.get_long() == Some(name)).cloned()
    };
    let given = |name: &str| {
        let flag = format!("--{name}");
        words[serve..].iter().any(|word| *word == flag || word.starts_with(&format!("{flag}=")))
    };
    let mut expanded = arguments;
    for (key, value) in table {
        let name = key.replace('_', "-");
        let argument = known(&name).filter(|_| name != "config");
        let argument = argument.ok_or_else(|| {
            format!(
                "{shown}: `serve` has no flag --{name}; `shield-server serve --help` lists them"
            )
        })?;
        if given(&name) {
            continue;
        }
        let flag = format!("--{name}");
        let takes_value = argument.get_action().takes_values();
        match value {
            Value::Boolean(true) if !takes_value => expanded.push(flag.into()),
            Value::Boolean(false) if !takes_value => {}
            Value::String(text) if takes_value => expanded.push(format!("{flag}={text}").into()),
            Value::Integer(number) if takes_value => {
                expanded.push(format!("{flag}={number}").into());
            }
            Value::Float(number) if takes_value => expanded.push(format!("{flag}={number}").into()),
            _ if takes_value => return Err(format!("{shown}: {key} is a text or a number")),
            _ => return Err(format!("{shown}: {key} is true or false")),
        }
    }
    Ok(expanded)
}

/// The file that `--config` names.
fn config(arguments: &[OsString], words: &[String]) -> Option<PathBuf> {
    words.iter().enumerate().find_map(|(place, word)| match word.strip_prefix("--config") {
        Some("") => arguments.get(place + 1).map(PathBuf::from),
        Some(rest) => rest.strip_prefix('=').map(PathBuf::from),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str, more: &[&str]) -> Result<Vec<String>, String> {
        let folder = std::env::temp_dir().join(format!("shield-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.toml", text.len()));
        std::fs::write(&path, text).unwrap();
        let config = format!("--config={}", path.display());
        let words = ["shield-server", "serve", &config].into_iter().chain(more.iter().copied());
        let expanded = expand(words.map(OsString::from).collect())?;
        std::fs::remove_file(&path).unwrap();
        Ok(expanded.iter().skip(3).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn every_flag_can_be_in_the_file_and_the_command_line_counts_more() {
        let text = "data = \"/var/lib/shield\"\nplain = true\ndev = false\nuploads = 8\n\
            public_url = \"https://a.example.org\"\nbudget = 2.5\n";
        let mut flags = expanded(text, &[]).unwrap();
        flags.sort();
        assert_eq!(
            flags,
            [
                "--budget=2.5",
                "--data=/var/lib/shield",
                "--plain",
                "--public-url=https://a.example.org",
                "--uploads=8"
            ]
        );
        let flags = expanded(text, &["--data", "elsewhere", "--uploads=2"]).unwrap();
        assert!(!flags.iter().any(|flag| flag.starts_with("--data=")), "{flags:?}");
        assert!(
            flags.contains(&"--uploads=2".to_owned()) && !flags.contains(&"--uploads=8".into())
        );
        // Every flag of the program is a key.
        let command = ServeArgs::augment_args(clap::Command::new("serve"));
        for argument in command.get_arguments().filter_map(clap::Arg::get_long) {
            assert!(argument == "config" || !argument.is_empty());
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, wrong) in [
            ("datta = \"x\"", "no flag --datta"),
            ("dev = \"yes\"", "dev is true or false"),
            ("data = true", "data is a text or a number"),
            ("data = ", "toml"),
            ("config = \"other.toml\"", "no flag --config"),
        ] {
            let problem = expanded(text, &[]).unwrap_err();
            assert!(problem.contains(wrong), "{problem}");
        }
        let other = vec![OsString::from("shield-server"), "backup".into(), "--config".into()];
        assert_eq!(expand(other.clone()), Ok(other));
    }
}
