//! TLS to the nodes, trusting one authority of the operator's.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, Result};
use crate::settings::CqlSettings;

/// What connections are made with; `None` without TLS.
///
/// # Errors
/// `Invalid` if the authority's certificate can't be read.
pub fn context(settings: &CqlSettings) -> Result<Option<Arc<ClientConfig>>> {
    let Some(path) = &settings.tls_ca else { return Ok(None) };
    let unreadable = || Error::invalid("tls_ca can't be read").with("file", path.display());
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path);
    for certificate in certificates.map_err(|e| unreadable().because(e))? {
        let certificate = certificate.map_err(|e| unreadable().because(e))?;
        roots.add(certificate).map_err(|e| unreadable().because(e))?;
    }
    if roots.is_empty() {
        return Err(unreadable());
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(Some(Arc::new(config)))
}
