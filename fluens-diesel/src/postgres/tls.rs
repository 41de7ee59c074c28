//! TLS as libpq understands it: `disable`, `prefer` (the default) and `require` encrypt without asking who answers;
//! `verify-ca` and `verify-full` check the certificate, `sslrootcert` against a file, else against the public roots.

use std::{path::Path, str::FromStr, sync::Arc};

use percent_encoding::percent_decode_str;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Nobody,
    Chain,
    ChainAndName,
}

/// What a url says; `None`: without TLS.
pub(super) fn of_url(url: &str) -> Result<(Config, Option<MakeRustlsConnect>), String> {
    let (url, mode, root) = split_tls_parameters(url);
    let mut config = Config::from_str(&url).map_err(|error| super::target::chain(&error))?;
    let (mode, check) = match mode.as_deref() {
        None | Some("prefer" | "allow") => (SslMode::Prefer, Check::Nobody),
        Some("disable") => (SslMode::Disable, Check::Nobody),
        // As libpq: with a root certificate at hand, `require` checks it.
        Some("require") if root.is_none() => (SslMode::Require, Check::Nobody),
        Some("require" | "verify-ca") => (SslMode::Require, Check::Chain),
        Some("verify-full") => (SslMode::Require, Check::ChainAndName),
        Some(other) => {
            return Err(format!(
                "`sslmode={other}` is not known; it is one of disable, allow, prefer, require, verify-ca, verify-full"
            ));
        }
    };
    config.ssl_mode(mode);
    let tls = match mode {
        SslMode::Disable => None,
        _ => Some(MakeRustlsConnect::new(client(check, root.as_deref())?)),
    };
    Ok((config, tls))
}

/// tokio-postgres knows neither `verify-*` nor `sslrootcert`: they are taken out of the url.
fn split_tls_parameters(url: &str) -> (String, Option<String>, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), None, None) };
    let (mut mode, mut root, mut rest) = (None, None, Vec::new());
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_owned()),
            Some(("sslrootcert", value)) => {
                root = Some(percent_decode_str(value).decode_utf8_lossy().into_owned());
            }
            _ => rest.push(parameter),
        }
    }
    (if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) }, mode, root)
}

fn client(check: Check, root: Option<&str>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = match check {
        Check::ChainAndName => builder.with_root_certificates(roots(root)?).with_no_client_auth(),
        Check::Chain => {
            let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(root)?), provider.clone())
                .build()
                .map_err(|error| error.to_string())?;
            let verifier = Arc::new(Lenient { chain: Some(chain), provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        Check::Nobody => {
            let verifier = Arc::new(Lenient { chain: None, provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(config)
}

fn roots(file: Option<&str>) -> Result<RootCertStore, String> {
    let Some(file) = file else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let unreadable = |error: &dyn std::fmt::Display| format!("`sslrootcert={file}` cannot be read: {error}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(Path::new(file)).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    Ok(roots)
}

/// Encrypts, and checks as much as the mode asks for.
#[derive(Debug)]
struct Lenient {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // `verify-ca` trusts the chain whatever the name.
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidForName
                | rustls::CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_parameters_are_taken_out_of_the_url() {
        let (url, mode, root) = split_tls_parameters(
            "postgres://db/x?connect_timeout=3&sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem",
        );
        assert_eq!(url, "postgres://db/x?connect_timeout=3");
        assert_eq!((mode.as_deref(), root.as_deref()), (Some("verify-full"), Some("/etc/ca.pem")));
    }

    #[test]
    fn an_unknown_mode_lists_the_known_ones() {
        let Err(error) = of_url("postgres://db/x?sslmode=verify") else { panic!("accepted") };
        assert!(error.contains("verify-ca, verify-full"), "{error}");
    }

    #[test]
    fn disable_means_no_tls() {
        assert!(of_url("postgres://db/x?sslmode=disable").unwrap().1.is_none());
        assert!(of_url("postgres://db/x").unwrap().1.is_some());
    }
}
