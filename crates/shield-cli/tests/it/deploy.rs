//! What `deploy/` has is what the program takes and gives: configuration, alerts, dashboard, and
//! the paths that all of them share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use shield_client::{Client, Invitation, TOKEN_VARIABLE};
use shield_protocol::ElectionFile;

use crate::parties::Parties;
use crate::serve::serving;
use crate::service::free_port;

fn deployed(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The flags that `serve --help` lists.
fn flags() -> BTreeSet<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_shield")).args(["serve", "--help"]).output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    let flag = |line: &str| {
        let rest = line.trim_start().split("--").nth(1)?;
        let starts = line.trim_start().starts_with('-');
        starts.then(|| rest.split([' ', '=']).next().unwrap_or(rest).to_owned())
    };
    help.lines().filter_map(flag).collect()
}

/// A flag that is new must be in the file, at least as a comment; one that is gone must not.
#[test]
fn the_configuration_file_has_every_flag() {
    let text = deployed("shield.toml");
    let keys: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.trim_start_matches("# ").split_once(" = "))
        .filter(|(key, _)| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
        .map(|(key, _)| key.replace('_', "-"))
        .collect();
    let other: BTreeSet<String> =
        ["config", "help", "json", "threads", "version"].map(str::to_owned).into();
    let flags: BTreeSet<String> = flags().difference(&other).cloned().collect();
    assert!(flags.contains("uploads-per-token"), "{flags:?}");
    assert_eq!(keys, flags, "deploy/shield.toml and `shield serve --help`");
}

/// The names of our metrics in a text, without what Prometheus adds to them.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| word.starts_with("shield_"));
    let bare = |word: &str| {
        let ends = ["_total", "_bucket", "_count", "_sum"];
        let bare = ends.iter().find_map(|end| word.strip_suffix(end));
        bare.unwrap_or(word).to_owned()
    };
    ours.map(bare).collect()
}

/// The file as it is delivered starts a server, but for the paths of the machine it is for; and
/// that server has every figure that alerts and dashboard ask for.
#[test]
fn what_is_deployed_runs_and_gives_what_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let pair = shield_server::tls::self_signed(&folder.path().join("tls")).unwrap();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/shield.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shield"));
    command.arg("serve").arg("--config").arg(&config);
    command.arg("--certificate").arg(&pair.chain).arg("--key").arg(&pair.key);
    let port = free_port();
    command.args(["--data", "data", "--disk-reserve", "1"]);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    command.args(["--operator", "operator.toml", "--monitor", "monitor.toml"]);
    command.current_dir(folder.path()).env("RUST_LOG", "warn").env_remove(TOKEN_VARIABLE);
    let (_server, url) = serving(command);
    assert_eq!(url, "https://shield.example.org:8443", "what goes into invitations");
    let invitation = |name: &str| Invitation {
        server: format!("https://127.0.0.1:{port}"),
        certificate: Some(std::fs::read_to_string(&pair.chain).unwrap()),
        ..Invitation::read_file(&folder.path().join(name)).unwrap()
    };
    // Figures of groups are there once there is one, those of requests after the first.
    let (operator, text) = (
        invitation("operator.toml"),
        "name = \"ward\"\ngroup = \"g\"\nclasses = 3\nsamples = 30\noffset = 40\nquorum = \
         2\nteachers = [\"a\", \"b\", \"c\"]",
    );
    let file = ElectionFile::parse(text).unwrap();
    Parties::create_at(&Client::new(&operator).unwrap(), &operator, file, folder.path());
    let monitor = Client::new(&invitation("monitor.toml")).unwrap();
    let metrics = monitor.get_bytes("/metrics", 1 << 20).unwrap();
    let metrics = metrics_in(&String::from_utf8(metrics).unwrap());
    for file in ["alerts.yml", "dashboard.json"] {
        let wanted = metrics_in(&deployed(file));
        assert!(wanted.len() >= 8, "{file} asks for {wanted:?}");
        let missing: Vec<&String> = wanted.difference(&metrics).collect();
        assert!(missing.is_empty(), "{file} asks for {missing:?}, which there is not");
    }
}

/// The certificate was once looked for in a folder that the container had nothing in.
#[test]
fn the_files_name_the_same_paths() {
    let toml: toml::Table = deployed("shield.toml").parse().unwrap();
    let (compose, unit, container) =
        (deployed("compose.yaml"), deployed("shield.service"), deployed("Containerfile"));
    for key in ["certificate", "key"] {
        let path = toml[key].as_str().unwrap();
        let parent = Path::new(path).parent().unwrap().to_str().unwrap();
        assert!(container.contains(&format!(" {parent}\n")), "the container has {parent}");
        assert!(unit.contains(&format!(" {path}")), "the unit says how {path} gets there");
        assert!(compose.contains(&format!("- ./tls:{parent}:ro\n")), "compose mounts {parent}");
    }
    let data = toml["data"].as_str().unwrap();
    assert!(compose.contains(&format!("- shield-data:{data}\n")));
    assert!(
        container.contains(&format!("VOLUME {data}\n")) && unit.contains("StateDirectory=shield")
    );
    for seat in ["operator", "monitor"] {
        assert!(toml[seat].as_str().unwrap().starts_with(data), "{seat} is in the volume");
    }
    let start = "serve --config /etc/shield/shield.toml";
    assert!(unit.contains(&format!("ExecStart=/usr/local/bin/shield {start}\n")));
    let words: Vec<String> = start.split(' ').map(|word| format!("\"{word}\"")).collect();
    let words = format!("[{}]", words.join(", "));
    assert!(container.contains(&format!("CMD {words}")) && compose.contains(&words));
    let listens = toml["listen"].as_str().unwrap().rsplit(':').next().unwrap();
    assert!(container.contains(&format!("EXPOSE {listens}\n")));
    assert!(container.contains(&format!("https://127.0.0.1:{listens}/readyz")));
    let dashboard: Value = serde_json::from_str(&deployed("dashboard.json")).unwrap();
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 4));
}

/// Everything that a source file includes, with the file that does so.
fn included(folder: &Path, found: &mut Vec<(PathBuf, PathBuf)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            included(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = ["include_str!(\"", "include_bytes!(\""];
            let parts = names.iter().flat_map(|name| text.split(name).skip(1));
            let places = parts.filter_map(|rest| rest.split('"').next());
            found.extend(places.map(|place| (path.clone(), folder.join(place))));
        }
    }
}

/// The program has example votes in it, and the container's build once had no examples.
#[test]
fn the_container_has_what_the_build_includes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let container = deployed("Containerfile");
    let build = container.split("RUN cargo build").next().unwrap();
    let copied: BTreeSet<&str> = build
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .flat_map(|line| line.split(' '))
        .collect();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        included(&entry.unwrap().path().join("src"), &mut found);
    }
    assert!(found.len() > 10, "{found:?}");
    for (by, file) in found {
        let file = file.canonicalize().unwrap_or_else(|_| panic!("{}: {file:?}", by.display()));
        let first = file.strip_prefix(&root).unwrap().components().next().unwrap();
        let first = first.as_os_str().to_str().unwrap();
        assert!(copied.contains(first), "{} includes {}", by.display(), file.display());
    }
}
