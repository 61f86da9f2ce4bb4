//! Certificates: the operator's own, or a self-signed pair for trying things out.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use shield_protocol::private;

/// Where the server's certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The chain, PEM.
    pub chain: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// A certificate or key that cannot be used.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct CertificateError {
    path: PathBuf,
    problem: String,
}

impl Certificate {
    /// Reads both files: what TLS needs to speak HTTP/1.1 in their name.
    ///
    /// Not HTTP/2: its requests carry no `Host`, by which the page tells its own forms from another
    /// site's, and hyper waits for its headers without a limit.
    pub fn config(&self) -> Result<ServerConfig, CertificateError> {
        let wrong =
            |path: &Path, problem: String| CertificateError { path: path.to_owned(), problem };
        let read = |path: &Path| fs::read(path).map_err(|error| wrong(path, error.to_string()));
        let chain = certificates(&read(&self.chain)?).ok_or_else(|| {
            wrong(&self.chain, "there is no certificate chain in it; give one as PEM".to_owned())
        })?;
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|_| {
            wrong(&self.key, "there is no private key in it; give one as PEM".to_owned())
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&self.chain, error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| {
                let chain = self.chain.display();
                wrong(
                    &self.key,
                    format!("it does not go with {chain}: {error}; give the chain's own key"),
                )
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<CertificateDer>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty())
}

/// Reads the certificate that invitations are to carry, as PEM.
pub fn authority(path: &Path) -> Result<String, CertificateError> {
    let wrong = |problem: String| CertificateError { path: path.to_owned(), problem };
    let pem = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    match certificates(pem.as_bytes()) {
        Some(_) if !pem.contains("PRIVATE KEY") => Ok(pem),
        Some(_) => Err(wrong("there is a private key in it, and invitations go to others".into())),
        None => Err(wrong("there is no certificate in it; give the authority's as PEM".into())),
    }
}

/// A self-signed pair for `localhost` and 127.0.0.1 in a folder: the one of last time, or a new
/// one.
///
/// For trying things out: it proves nothing to anybody who did not get the certificate from the
/// operator.
pub fn self_signed(folder: &Path) -> io::Result<Certificate> {
    let certificate =
        Certificate { chain: folder.join("dev-certificate.pem"), key: folder.join("dev-key.pem") };
    if certificate.chain.exists() && certificate.key.exists() {
        return Ok(certificate);
    }
    private::make_folder(folder)?;
    // A crash came between the two: half a pair is of no use, and no file is written over another.
    for half in [&certificate.key, &certificate.chain] {
        match fs::remove_file(half) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let params = CertificateParams::new(names).map_err(io::Error::other)?;
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let signed = params.self_signed(&key).map_err(io::Error::other)?;
    private::write(&certificate.key, key.serialize_pem().as_bytes())?;
    shield_data::write_atomically(&certificate.chain, |file| {
        file.write_all(signed.pem().as_bytes())
    })?;
    Ok(certificate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let pair = self_signed(folder.path()).unwrap();
        let first = fs::read(&pair.chain).unwrap();
        assert_eq!(fs::read(self_signed(folder.path()).unwrap().chain).unwrap(), first);
        for half in [&pair.chain, &pair.key] {
            fs::remove_file(half).unwrap();
            self_signed(folder.path()).unwrap().config().unwrap();
        }
        assert_ne!(fs::read(&pair.chain).unwrap(), first);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inner = |name: &str| folder.path().join(name);
        let (own, other) = (self_signed(&inner("a")).unwrap(), self_signed(&inner("b")).unwrap());
        own.config().unwrap();
        fs::write(inner("junk"), "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n")
            .unwrap();
        fs::write(inner("empty"), "").unwrap();
        for (chain, key, named) in [
            (&inner("junk"), &own.key, "junk: there is no certificate chain"),
            (&inner("empty"), &own.key, "empty: there is no certificate chain"),
            (&own.chain, &inner("junk"), "junk: there is no private key"),
            (&own.chain, &own.chain, "dev-certificate.pem: there is no private key"),
            (&own.chain, &inner("nowhere"), "nowhere: No such file"),
            (&own.chain, &other.key, "dev-key.pem: it does not go with"),
        ] {
            let pair = Certificate { chain: chain.clone(), key: key.clone() };
            let error = pair.config().expect_err(named).to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
