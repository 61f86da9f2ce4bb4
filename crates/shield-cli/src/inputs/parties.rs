//! Who acts in a signed election, and whom they know.

use std::path::PathBuf;

use clap::Args;
use shield_board::{Fingerprint, Identity, Roster, private};
use shield_protocol::{ProtocolError, SignedElection};

use crate::console;
use crate::failure::Failure;

/// The identity of whoever runs a command.
#[derive(Args, Debug)]
pub(crate) struct IdentityArgs {
    /// Your identity, as `shield identity new` made it
    #[arg(long, value_name = "FILE", env = "SHIELD_IDENTITY")]
    pub(crate) identity: PathBuf,
}

impl IdentityArgs {
    /// Reads it.
    pub(crate) fn load(&self) -> Result<Identity, Failure> {
        read_identity(&self.identity)
    }
}

/// Reads an identity, and warns if others can.
pub(crate) fn read_identity(path: &std::path::Path) -> Result<Identity, Failure> {
    let identity = Identity::read(path).map_err(ProtocolError::from)?;
    if private::is_open_to_others(path).unwrap_or(false) {
        console::warn(&format!(
            "{} can be read by others than its owner: chmod 600 it",
            path.display()
        ));
    }
    Ok(identity)
}

/// The parties that a user knows.
#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    /// The parties that you know [default: shield/roster.toml in your configuration folder]
    #[arg(long, value_name = "FILE", env = "SHIELD_ROSTER")]
    roster: Option<PathBuf>,

    /// The fingerprint of the election's parties, compared by telephone: adds them to your roster
    #[arg(long, value_name = "DIGITS")]
    trust: Option<Fingerprint>,
}

impl TrustArgs {
    /// Fails unless all parties of an election are known, with these keys.
    pub(crate) fn check(&self, election: &SignedElection) -> Result<(), Failure> {
        let Some(path) = self.roster.clone().or_else(default_roster) else {
            return Err(Failure::bad_input("there is no home folder; give --roster FILE"));
        };
        let mut roster = Roster::read(&path).map_err(ProtocolError::from)?;
        let (group, parties) = (election.file().group(), election.parties());
        roster.check(group, parties, self.trust).map_err(ProtocolError::from)?;
        Ok(())
    }
}

fn default_roster() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty());
    let config = folder("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(folder("HOME").or_else(|| folder("USERPROFILE"))?));
    let config = config.or_else(|| Some(home()?.join(".config")))?;
    Some(config.join("shield").join("roster.toml"))
}
