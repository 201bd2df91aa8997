//! The HTTP client that all providers share.

use std::{sync::Arc, time::Duration};

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::{Error, ErrorKind};

/// How the client behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// How long a connection, encryption included, may take to open, in milliseconds.
    pub connect_ms: u64,
    /// How long an unused connection is kept, in milliseconds.
    pub idle_ms: u64,
    /// An HTTP proxy for all requests. `None` connects directly, whatever the environment says.
    pub proxy: Option<String>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_ms: 5_000,
            idle_ms: 60_000,
            proxy: None,
        }
    }
}

/// The HTTP client that all providers share. Clones share its connections.
///
/// It follows no redirects (a key must not travel to another host), reads no proxy from the environment, and repeats nothing by itself.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    /// Why no `https://` server can be verified, when that is so.
    certificates_problem: Option<Arc<str>>,
}

impl Client {
    /// Builds it; once per process is enough.
    ///
    /// A machine without root certificates still gets one, which reaches `http://` only; see [`Client::certificates_problem`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] when the proxy is not a URL or the system gives no sockets.
    pub fn new(options: &ClientOptions) -> Result<Self, Error> {
        let (tls, certificates_problem) = tls_config()?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_millis(options.connect_ms))
            .pool_idle_timeout(Duration::from_millis(options.idle_ms))
            .user_agent(concat!("agon/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = &options.proxy {
            let proxy = reqwest::Proxy::all(proxy).map_err(|source| {
                // The address is not repeated: it may hold a password.
                let message = "the proxy's address is not a URL: expected `http://HOST:PORT`";
                Error::new(ErrorKind::Configuration, message).with_source(source.without_url())
            })?;
            builder = builder.proxy(proxy);
        }
        let http = builder.build().map_err(|source| {
            Error::new(ErrorKind::Configuration, "the HTTP client cannot be built")
                .with_source(source)
        })?;
        Ok(Self {
            http,
            certificates_problem: certificates_problem.map(Into::into),
        })
    }

    /// Why no `https://` server can be verified on this machine, when that is so.
    pub fn certificates_problem(&self) -> Option<&str> {
        self.certificates_problem.as_deref()
    }

    pub(crate) fn get(&self, url: reqwest::Url) -> reqwest::RequestBuilder {
        self.http.get(url)
    }

    pub(crate) fn post(&self, url: reqwest::Url) -> reqwest::RequestBuilder {
        self.http.post(url)
    }
}

/// TLS by rustls and ring, verified by what the operating system trusts.
///
/// Handed to the client ready-made, so that no process-wide default has to be installed.
fn tls_config() -> Result<(ClientConfig, Option<String>), Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|source| {
                Error::new(ErrorKind::Configuration, "TLS cannot be set up").with_source(source)
            })
    };
    let (config, problem) = match builder()?.with_platform_verifier() {
        Ok(config) => (config, None),
        // Minimal machines have no root certificates. Local models on `http://` work all the same.
        Err(problem) => (
            builder()?.with_root_certificates(RootCertStore::empty()),
            Some(problem.to_string()),
        ),
    };
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((config, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_built_without_any_process_wide_set_up() {
        let client = Client::new(&ClientOptions::default()).unwrap();
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
        drop(client);
    }

    #[test]
    fn a_proxy_that_is_not_a_url_is_refused_without_repeating_it() {
        let options = ClientOptions {
            proxy: Some("http://user:secret@[".to_owned()),
            ..ClientOptions::default()
        };
        let error = Client::new(&options).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}
