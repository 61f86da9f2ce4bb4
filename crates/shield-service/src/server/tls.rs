//! Certificates: the operator's own, or a self-signed pair for trying things out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, KeyPair};

use crate::private;

/// Where the server's certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The chain, PEM.
    pub chain: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// A self-signed pair for `localhost` and 127.0.0.1 in a folder: the one of last time, or a new one.
///
/// For trying things out: it proves nothing to anybody who did not get the certificate from the operator.
pub fn self_signed(folder: &Path) -> io::Result<Certificate> {
    let certificate =
        Certificate { chain: folder.join("dev-certificate.pem"), key: folder.join("dev-key.pem") };
    if certificate.chain.exists() && certificate.key.exists() {
        return Ok(certificate);
    }
    private::make_folder(folder)?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let params = CertificateParams::new(names).map_err(io::Error::other)?;
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let signed = params.self_signed(&key).map_err(io::Error::other)?;
    private::write(&certificate.key, key.serialize_pem().as_bytes())?;
    shield::files::write_atomically(&certificate.chain, |file| {
        file.write_all(signed.pem().as_bytes())
    })?;
    Ok(certificate)
}
