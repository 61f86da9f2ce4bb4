//! The certificate authorities that a client trusts.

use std::path::Path;
use std::{env, fs, io};

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// The variable that names a file of authorities, here as in other programs.
const VARIABLE: &str = "SSL_CERT_FILE";

/// Where systems keep the authorities that they trust: Debian and Arch, Fedora, openSUSE, and
/// Alpine, BSD and macOS.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Why no authority can be trusted.
pub(crate) enum Unreadable {
    /// The one in the invitation is no certificate.
    Invited(String),
    /// The file that the variable names has none; with what to do.
    Named(String),
}

/// The one in the invitation and no other; without it those in the file that `SSL_CERT_FILE` names,
/// or else the system's, to which hospitals add their own; the public ones that come with the
/// program where there are none.
pub(crate) fn trusted(invited: Option<&str>) -> Result<RootCerts, Unreadable> {
    if let Some(pem) = invited {
        return read(pem.as_bytes()).map_err(Unreadable::Invited);
    }
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let path = Path::new(&path);
        let pem = fs::read(path).map_err(|error: io::Error| error.to_string());
        return pem.and_then(|pem| read(&pem)).map_err(|problem| {
            let remedy = format!("give a PEM file of authorities in {VARIABLE}, or unset it");
            Unreadable::Named(format!("{}: {problem}; {remedy}", path.display()))
        });
    }
    let system = SYSTEM.iter().find_map(|path| read(&fs::read(path).ok()?).ok());
    Ok(system.unwrap_or(RootCerts::WebPki))
}

fn read(pem: &[u8]) -> Result<RootCerts, String> {
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            roots.push(certificate);
        }
    }
    if roots.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(RootCerts::new_with_certs(&roots))
}
