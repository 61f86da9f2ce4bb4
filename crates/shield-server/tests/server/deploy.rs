//! What `deploy/` has is what the program takes and gives: configuration, alerts, dashboard, and
//! the paths that all of them share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use shield_client::{Client, Invitation, TOKEN_VARIABLE};
use ureq::tls::{RootCerts, TlsConfig};

use crate::harness::{Parties, election_with};
use crate::programs::{program, shield_server};
use crate::serve::serving;
use crate::service::free_port;

fn deployed(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The flags that `serve --help` lists.
fn flags() -> BTreeSet<String> {
    let help = shield_server().args(["serve", "--help"]).output();
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
    assert_eq!(keys, flags, "deploy/shield.toml and `shield-server serve --help`");
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
    let mut command = shield_server();
    command.arg("serve").arg("--config").arg(&config);
    command.arg("--certificate").arg(&pair.chain).arg("--key").arg(&pair.key);
    let port = free_port();
    command.args(["--data", "data", "--disk-reserve", "1"]);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    command.args(["--operator", "operator.toml", "--monitor", "monitor.toml"]);
    command.current_dir(folder.path()).env("RUST_LOG", "warn").env_remove(TOKEN_VARIABLE);
    let server = serving(command);
    assert_eq!(server.url, "https://shield.example.org:8443", "what goes into invitations");
    let invitation = |name: &str| Invitation {
        server: format!("https://127.0.0.1:{port}"),
        certificate: Some(std::fs::read_to_string(&pair.chain).unwrap()),
        ..Invitation::read_file(&folder.path().join(name)).unwrap()
    };
    // Figures of groups are there once there is one, those of requests after the first.
    let operator = invitation("operator.toml");
    let file = election_with("classes = 3\noffset = 40", "ward", 3, 30, 2);
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
    assert!(unit.contains(&format!("ExecStart=/usr/local/bin/shield-server {start}\n")));
    let words: Vec<String> = start.split(' ').map(|word| format!("\"{word}\"")).collect();
    let words = format!("[{}]", words.join(", "));
    assert!(container.contains(&format!("CMD {words}")) && compose.contains(&words));
    let listens = toml["listen"].as_str().unwrap().rsplit(':').next().unwrap();
    assert!(container.contains(&format!("EXPOSE {listens}\n")));
    assert!(container.contains(&format!("https://127.0.0.1:{listens}/readyz")));
    let dashboard: Value = serde_json::from_str(&deployed("dashboard.json")).unwrap();
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 4));
}

/// A proxy, which ends with the test.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server and a proxy in front of it, whose configuration is as delivered but for the
/// addresses and paths of this machine; keys go through it, and the operator signs in at the page.
fn passes_through(configuration: &str, start: impl FnOnce(&Path, &str) -> Command) {
    let folder = tempfile::tempdir().unwrap();
    let pair = shield_server::tls::self_signed(&folder.path().join("tls")).unwrap();
    let (port, inner) = (free_port(), free_port());
    let url = format!("https://localhost:{port}");
    let mut command = shield_server();
    command.args(["serve", "--plain", "--data", "data", "--public-url", &url]);
    command.args(["--listen", &format!("127.0.0.1:{inner}"), "--budget", "1000"]);
    command.arg("--authority").arg(&pair.chain).current_dir(folder.path());
    let _server = serving(command);
    let text = [
        ("shield.example.org:443", format!("localhost:{port}")),
        ("listen 443 ssl", format!("listen 127.0.0.1:{port} ssl")),
        ("shield.example.org", "localhost".to_owned()),
        ("/etc/shield/tls/chain.pem", pair.chain.display().to_string()),
        ("/etc/shield/tls/key.pem", pair.key.display().to_string()),
        ("127.0.0.1:8443", format!("127.0.0.1:{inner}")),
    ]
    .iter()
    .fold(deployed(configuration), |text, (from, to)| text.replace(from, to));
    let mut command = start(folder.path(), &text);
    command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let _proxy = Proxy(command.spawn().unwrap());

    let operator = Invitation::read_file(&folder.path().join("operator.toml")).unwrap();
    let client = |invitation: &Invitation| {
        Client::new(invitation).unwrap().with_patience(std::time::Duration::from_mins(1))
    };
    // Keys of several MiB: a stock nginx refuses the first part of them.
    let file = election_with("classes = 10\noffset = 9", "ward", 3, 100, 2);
    let parties = Parties::create_at(&client(&operator), &operator, file, folder.path());
    assert!(parties.keys.evaluation.len() > 4 << 20);
    parties.submit_keys_by(&client(&parties.student()));
    let root = std::fs::read(&pair.chain).unwrap();
    let root = ureq::tls::Certificate::from_pem(&root).unwrap();
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[root])).build();
    let agent = ureq::Agent::config_builder().tls_config(tls).max_redirects(0).build().new_agent();
    let form = agent.post(format!("{url}/session")).header("origin", &url);
    // An address that somebody makes up is not the one that is written down.
    let form = form.header("x-forwarded-for", "203.0.113.7");
    let session = form.send_form([("token", operator.token.secret())]).unwrap();
    let cookie = session.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-shield=") && cookie.contains("Secure"), "{cookie}");
    let log = client(&operator).get::<Value>("/v1/audit-log").unwrap();
    assert!(log.as_array().unwrap().iter().all(|line| line["address"] == "127.0.0.1"), "{log}");
}

#[test]
fn keys_and_the_page_pass_through_nginx() {
    let Some(nginx) = program("nginx", &["/usr/sbin/nginx".into()]) else { return };
    passes_through("nginx.conf", |folder, site| {
        std::fs::write(folder.join("site.conf"), site).unwrap();
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let places: String = kinds.map(|kind| format!("{kind}_temp_path {kind};")).concat();
        let main =
            "daemon off; pid nginx.pid; error_log error.log; events {} http { access_log off;";
        std::fs::write(folder.join("nginx.conf"), format!("{main} {places} include site.conf; }}"))
            .unwrap();
        let mut command = Command::new(nginx);
        command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
        command
    });
}

#[test]
fn keys_and_the_page_pass_through_caddy() {
    let Some(caddy) = program("Caddy", &["/usr/bin/caddy".into()]) else { return };
    passes_through("Caddyfile", |folder, site| {
        // No port for its administrator, and none for plain HTTP.
        let site = format!("{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{site}");
        std::fs::write(folder.join("Caddyfile"), site).unwrap();
        let mut command = Command::new(caddy);
        command.args(["run", "--config", "Caddyfile", "--adapter", "caddyfile"]);
        command.env("HOME", folder);
        command
    });
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
