//! An invitation: everything that one party needs to talk to the server, in one small secret file.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::this_machine::is_this_machine;
use shield_protocol::{Name, private};
use thiserror::Error;
use ureq::http::Uri;

/// The environment variable whose token counts instead of the file's.
pub const TOKEN_VARIABLE: &str = "SHIELD_TOKEN";

/// Where the server is, who the bearer is, and the token that proves it.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The server's address, such as `https://shield.example.org:8443`.
    pub server: String,
    /// What the bearer is.
    pub role: String,
    /// The election, for students and teachers.
    pub election: Option<Name>,
    /// The teacher's name, for teachers.
    pub teacher: Option<Name>,
    /// The certificate that the server's chain must end in, as PEM; without one, that of an
    /// authority that the machine trusts.
    pub certificate: Option<String>,
    /// The token.
    pub token: Token,
}

/// An invitation that cannot be used.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct InvitationError {
    path: PathBuf,
    problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    server: String,
    role: String,
    election: Option<Name>,
    teacher: Option<Name>,
    certificate: Option<String>,
    token: Option<String>,
}

impl Invitation {
    /// An invitation for a role.
    pub fn new(
        server: &str,
        role: &Role,
        teacher: Option<&Name>,
        certificate: Option<&str>,
        token: Token,
    ) -> Self {
        Self {
            server: server.trim_end_matches('/').to_owned(),
            role: role.name().to_owned(),
            election: role.election().cloned(),
            teacher: teacher.cloned(),
            certificate: certificate.map(str::to_owned),
            token,
        }
    }

    /// Reads the caller's own invitation. The token in the environment, if there is one, counts
    /// instead of the file's.
    pub fn read(path: &Path) -> Result<Self, InvitationError> {
        let token = std::env::var(TOKEN_VARIABLE).ok().map(|token| token.trim().parse());
        let token = token.transpose().map_err(|error| InvitationError {
            path: path.to_owned(),
            problem: format!("its token comes from {TOKEN_VARIABLE}, and {error}"),
        })?;
        Self::read_with(path, token)
    }

    /// Reads anybody's invitation as it was written: the token in the environment is the caller's
    /// own.
    pub fn read_file(path: &Path) -> Result<Self, InvitationError> {
        Self::read_with(path, None)
    }

    fn read_with(path: &Path, own: Option<Token>) -> Result<Self, InvitationError> {
        let refuse = |problem: String| InvitationError { path: path.to_owned(), problem };
        let text = fs::read_to_string(path).map_err(|error| {
            refuse(format!("{error}; give the invitation file that you got from the operator"))
        })?;
        let written: Written = toml::from_str(&text)
            .map_err(|error| refuse(format!("not an invitation: {}", error.message())))?;
        let token = match (own, written.token) {
            (Some(own), _) => own,
            (None, Some(token)) => {
                token.trim().parse().map_err(|error| refuse(format!("{error}")))?
            }
            (None, None) => {
                let remedy = format!("add it, or set {TOKEN_VARIABLE} if it is yours");
                return Err(refuse(format!("it has no token; {remedy}")));
            }
        };
        check_server(&written.server)
            .map_err(|why| refuse(format!("the server's address `{}` {why}", written.server)))?;
        Ok(Self {
            server: written.server.trim_end_matches('/').to_owned(),
            role: written.role,
            election: written.election,
            teacher: written.teacher,
            certificate: written.certificate,
            token,
        })
    }

    /// Writes it to a new file that only its owner reads.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let whose = match (&self.teacher, &self.election) {
            (Some(teacher), Some(election)) => format!("the teacher {teacher} of {election}"),
            (None, Some(election)) => format!("the student of {election}"),
            _ => format!("the {}", self.role),
        };
        let mut text = format!(
            "# For {whose} alone: whoever has this file can act in that place. Send it over a \
             safe channel.\n#\n"
        );
        for line in self.what_to_do(path) {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        let quoted = |value: &str| toml::Value::String(value.to_owned()).to_string();
        let _ = writeln!(text, "server = {}", quoted(&self.server));
        let _ = writeln!(text, "role = {}", quoted(&self.role));
        for (key, name) in [("election", &self.election), ("teacher", &self.teacher)] {
            if let Some(name) = name {
                let _ = writeln!(text, "{key} = {}", quoted(name.as_str()));
            }
        }
        let _ = writeln!(text, "token = {}", quoted(self.token.secret()));
        if let Some(certificate) = &self.certificate {
            let _ = writeln!(text, "certificate = '''\n{certificate}'''");
        }
        private::write(path, text.as_bytes())
    }
}

impl Invitation {
    /// What the bearer does with it, line by line.
    fn what_to_do(&self, path: &Path) -> Vec<String> {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let lines = match (self.role.as_str(), &self.election) {
            ("teacher", Some(election)) => vec![
                format!("What it is: you are asked to vote in the election {election}. Your votes"),
                "are encrypted on your machine; the server cannot read them.".to_owned(),
                "What to do: write your votes to a file, one per sample in the order of the"
                    .to_owned(),
                "samples (see docs/data.md), and run".to_owned(),
                format!("    shield vote --invitation {file} --votes my-votes.csv"),
                "Whether your ballot is in:".to_owned(),
                format!("    shield election status --invitation {file}"),
            ],
            ("student", Some(election)) => vec![
                format!("What it is: you get the labels of the election {election}."),
                "What to do first, so that teachers can vote:".to_owned(),
                format!(
                    "    shield election fetch election --invitation {file} --out election.toml"
                ),
                "    shield keygen --election election.toml --out keys".to_owned(),
                format!(
                    "    shield election submit --invitation {file} keys/public.key \
                     keys/evaluation.key"
                ),
                "When enough have voted:".to_owned(),
                format!("    shield election close --invitation {file}"),
                format!("    shield election status --invitation {file} --watch"),
                format!("    shield election fetch results --invitation {file} --out results.bin"),
                "    shield reveal --election election.toml --secret-key keys/secret.key \\"
                    .to_owned(),
                "        --results results.bin --out labels.csv".to_owned(),
            ],
            ("operator", _) => vec![
                "What to do: create elections, and see how they go:".to_owned(),
                format!("    shield election submit --invitation {file} election.toml"),
                format!("    shield election status --invitation {file}"),
                "or sign in at the server's address in a browser with the token below.".to_owned(),
            ],
            ("monitor", _) => {
                vec!["What to do: give the token below to whatever reads /metrics.".to_owned()]
            }
            _ => vec![],
        };
        let check = format!("    shield election preflight --invitation {file}");
        lines.into_iter().chain(["Whether all is in order:".to_owned(), check]).collect()
    }
}

/// Whether a token may go to an address: over TLS, or without leaving this machine.
fn check_server(address: &str) -> Result<(), &'static str> {
    let parsed: Uri = address.parse().map_err(|_| "is not one; it looks like https://host:8443")?;
    let here = is_this_machine(parsed.host().unwrap_or_default());
    match parsed.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if here => Ok(()),
        Some("http") => Err(
            "would send the token in the clear; write https://, or ask the operator for a server \
             with a certificate",
        ),
        _ => Err("must start with https://"),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn an_invitation_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("amber.toml");
        let role = Role::Teacher { election: "ward-7".parse().unwrap(), teacher: 0 };
        let token = Token::random(&mut StdRng::seed_from_u64(1));
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let teacher: Name = "amber".parse().unwrap();
        let written =
            Invitation::new("https://a:1/", &role, Some(&teacher), Some(pem), token.clone());
        written.write(&path).unwrap();
        assert!(written.write(&path).is_err(), "never over another");
        let read = Invitation::read(&path).unwrap();
        assert_eq!(read.server, "https://a:1");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("#     shield vote --invitation amber.toml --votes"), "{text}");
        assert_eq!(read.token, token);
        assert_eq!(read.certificate.as_deref(), Some(pem));
        assert_eq!((read.election, read.teacher), (written.election, written.teacher));
        assert!(!format!("{:?}", read.token).contains("shield_"));
        let own = Token::random(&mut StdRng::seed_from_u64(2));
        let read = Invitation::read_with(&path, Some(own.clone())).unwrap();
        assert_eq!(read.token, own, "the caller's own token counts");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_token_leaves_this_machine_over_tls_alone() {
        for fine in [
            "https://shield.example.org:8443",
            "https://10.0.0.1",
            "http://localhost:8443",
            "http://127.0.0.1:8443/",
            "http://127.9.9.9",
            "http://[::1]:8443",
        ] {
            assert_eq!(check_server(fine), Ok(()), "{fine}");
        }
        for (wrong, word) in [
            ("http://shield.example.org", "in the clear"),
            ("http://10.0.0.1:8443", "in the clear"),
            ("http://0.0.0.0:8443", "in the clear"),
            ("http://localhost.example.org", "in the clear"),
            ("http://127.0.0.1.example.org", "in the clear"),
            ("http://localhost@example.org/", "in the clear"),
            ("ftp://localhost", "https://"),
            ("shield.example.org", "https://"),
            ("", "https://"),
            ("https://a b", "https://"),
        ] {
            let why = check_server(wrong).expect_err(wrong);
            assert!(why.contains(word), "{wrong}: {why}");
        }
    }
}
