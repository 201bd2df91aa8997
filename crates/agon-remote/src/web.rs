//! Files on web servers, by range requests (RFC 9110, section 14) where the server knows them.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom, Write as _},
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agon_dataset::Input;
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::BoxStream};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector as _, HttpError, HttpRequestBody, HttpResponse, ReqwestConnector,
    },
};
use tokio::time::{sleep, timeout};
use url::Url;

use crate::{
    Error, Remote, Waits, address,
    object::{Fetch, RemoteObject},
    worker::Worker,
};

/// Bytes asked for at first, to see what a server knows.
const HEAD_BYTES: u64 = 64 * 1024;

/// The longest wait that a server may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(20);

/// Bytes handed over at once from a stream.
const STREAM_BYTES: usize = 1024 * 1024;

/// Opens a file on a web server.
pub(crate) fn resolve(remote: &Remote, url: Url) -> Result<Vec<Input>, Error> {
    let name = address::shown(url.as_str());
    let client = Arc::new(WebClient::new(&name, url.scheme() == "http", remote.waits)?);
    let site = Site {
        name: name.clone(),
        url,
        token: None,
        forbidden: Arc::new(|_| {
            "Agon sends no credentials to web servers; download the file and give its path"
                .to_owned()
        }),
    };
    let opened = run(&remote.worker, &name, {
        let client = Arc::clone(&client);
        let site = site.clone();
        async move { client.open(&site).await }
    })??;
    let input = match opened {
        First::Ranges { size, head, etag } => {
            let file = WebFile::new(client, site, size, etag.clone(), Some(etag));
            Input::Object {
                object: Arc::new(RemoteObject::new(
                    name,
                    size,
                    Some(head),
                    Arc::new(file),
                    Arc::clone(&remote.worker),
                )),
                is_incidental: false,
            }
        }
        First::Whole(body) => Input::Reader {
            name: name.clone(),
            reader: Box::new(BodyReader {
                name,
                body: Some(body),
                at_hand: Bytes::new(),
                n_read: 0,
                silence: remote.waits.silence,
                worker: Arc::clone(&remote.worker),
            }),
        },
    };
    Ok(vec![input])
}

/// Runs a request to its end.
pub(crate) fn run<T: Send + 'static>(
    worker: &Worker,
    name: &str,
    request: impl Future<Output = T> + Send + 'static,
) -> Result<T, Error> {
    worker.run(request).map_err(|error| Error::Unavailable {
        address: name.to_owned(),
        detail: error.to_string(),
        n_tries: 1,
    })
}

/// Where a file is and who may read it.
#[derive(Clone)]
pub(crate) struct Site {
    /// As messages call it.
    pub(crate) name: String,
    pub(crate) url: Url,
    /// A bearer token. It is not sent on to another host that the server points to.
    pub(crate) token: Option<HeaderValue>,
    /// What to advise when the server says no, by the headers of its answer.
    pub(crate) forbidden: Arc<dyn Fn(&HeaderMap) -> String + Send + Sync>,
}

/// The first answer of a server.
enum First {
    /// It sends ranges.
    Ranges {
        size: u64,
        head: Bytes,
        etag: Option<String>,
    },
    /// It sends all or nothing.
    Whole(Body),
}

type Body = BoxStream<'static, Result<Bytes, HttpError>>;

/// What keeps a try from succeeding.
enum Failure {
    /// May pass.
    Passing {
        detail: String,
        retry_after: Option<Duration>,
    },
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

fn passing(detail: impl Into<String>) -> Failure {
    Failure::Passing {
        detail: detail.into(),
        retry_after: None,
    }
}

/// The chain of what went wrong, without addresses, which the library leaves out.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// A client with bounded waits.
pub(crate) struct WebClient {
    client: HttpClient,
    waits: Waits,
}

impl WebClient {
    /// A client that speaks without encryption only when that is allowed; otherwise it follows no redirection to such an address either.
    pub(crate) fn new(name: &str, allow_http: bool, waits: Waits) -> Result<Self, Error> {
        let options = ClientOptions::new()
            .with_allow_http(allow_http)
            .with_connect_timeout(waits.connect)
            .with_timeout_disabled();
        let client = ReqwestConnector::default()
            .connect(&options)
            .map_err(|error| Error::Settings {
                address: name.to_owned(),
                detail: told(&error),
            })?;
        Ok(Self { client, waits })
    }

    /// Tries until it succeeds, fails for good, or was tried often enough.
    async fn tried<T, F>(&self, name: &str, attempt: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut backoff = self.waits.backoff;
        let mut n_tries = 1;
        loop {
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing { detail, .. }) if n_tries > self.waits.n_retries => {
                    return Err(Error::Unavailable {
                        address: name.to_owned(),
                        detail,
                        n_tries,
                    });
                }
                Err(Failure::Passing { retry_after, .. }) => {
                    let wait = retry_after.unwrap_or_default().max(backoff);
                    sleep(wait.min(RETRY_AFTER_MAX)).await;
                    backoff *= 2;
                    n_tries += 1;
                }
            }
        }
    }

    /// Sends one request, and tells answers that may change from those that will not.
    async fn send(&self, site: &Site, range: Option<&Range<u64>>) -> Result<HttpResponse, Failure> {
        let malformed = |error: http::Error| Error::Address {
            address: site.name.clone(),
            detail: error.to_string(),
        };
        let mut request = http::Request::get(site.url.as_str());
        if let Some(range) = range {
            let last = range.end.saturating_sub(1);
            request = request.header(header::RANGE, format!("bytes={}-{last}", range.start));
        }
        if let Some(token) = &site.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        let request = request.body(HttpRequestBody::empty()).map_err(malformed)?;
        let response = match timeout(self.waits.silence, self.client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(passing(told(&error))),
            Err(_) => return Err(passing("the server does not answer")),
        };
        let status = response.status();
        let headers = response.headers();
        if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(response);
        }
        let address = site.name.clone();
        Err(match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Error::NotFound {
                address,
                hint: "check the address".to_owned(),
            }
            .into(),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Error::Forbidden {
                address,
                status: status.as_u16(),
                hint: (site.forbidden)(headers),
            }
            .into(),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                answered(status, headers)
            }
            _ if status.is_server_error() => answered(status, headers),
            _ => Failure::Final(Error::Unavailable {
                address,
                detail: format!("the server answers {status}"),
                n_tries: 1,
            }),
        })
    }

    /// Collects an answer of at most `n_max` bytes.
    async fn collect(&self, response: HttpResponse, n_max: u64) -> Result<Bytes, Failure> {
        let mut body = response.into_body().bytes_stream();
        let mut bytes = BytesMut::new();
        loop {
            match timeout(self.waits.silence, body.next()).await {
                Ok(None) => return Ok(bytes.freeze()),
                Ok(Some(Ok(more))) => {
                    bytes.extend_from_slice(&more);
                    if bytes.len() as u64 > n_max {
                        return Err(passing(format!(
                            "the server sends more than the {n_max} bytes it was asked for"
                        )));
                    }
                }
                Ok(Some(Err(error))) => return Err(passing(told(&error))),
                Err(_) => return Err(passing("the server stopped sending")),
            }
        }
    }

    /// Fetches a whole answer, such as a page of a list, with its headers.
    pub(crate) async fn page(&self, site: &Site, n_max: u64) -> Result<(HeaderMap, Bytes), Error> {
        self.tried(&site.name, || async {
            let response = self.send(site, None).await?;
            let headers = response.headers().clone();
            Ok((headers, self.collect(response, n_max).await?))
        })
        .await
    }

    /// Asks for the first bytes, and sees whether the server knows ranges.
    async fn open(&self, site: &Site) -> Result<First, Error> {
        self.tried(&site.name, || async {
            let response = self.send(site, Some(&(0..HEAD_BYTES))).await?;
            let headers = response.headers();
            let etag = etag(headers);
            match (response.status(), content_range(headers)) {
                // No range of an empty file can be had.
                (StatusCode::RANGE_NOT_SATISFIABLE, _) => Ok(First::Ranges {
                    size: 0,
                    head: Bytes::new(),
                    etag,
                }),
                (StatusCode::PARTIAL_CONTENT, Some((0, Some(size)))) => {
                    let head = self.collect(response, HEAD_BYTES).await?;
                    if head.len() as u64 != size.min(HEAD_BYTES) {
                        return Err(passing("the server sends less than it announces"));
                    }
                    Ok(First::Ranges { size, head, etag })
                }
                (StatusCode::PARTIAL_CONTENT, _) => {
                    let response = self.send(site, None).await?;
                    Ok(First::Whole(response.into_body().bytes_stream()))
                }
                _ => Ok(First::Whole(response.into_body().bytes_stream())),
            }
        })
        .await
    }
}

fn answered(status: StatusCode, headers: &HeaderMap) -> Failure {
    let retry_after = headers
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.trim().parse().ok())
        .map(Duration::from_secs);
    Failure::Passing {
        detail: format!("the server answers {status}"),
        retry_after,
    }
}

fn etag(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::ETAG)?.to_str().ok()?;
    Some(value.to_owned())
}

/// The first byte of a range, and the size of the whole when the server knows it.
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let value = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (range, size) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, size.trim().parse().ok()))
}

/// A file on a web server.
pub(crate) struct WebFile {
    client: Arc<WebClient>,
    site: Site,
    size: u64,
    /// What its server, or the list it stands in, calls this version.
    version: Option<String>,
    /// The ETag of the first answer, which all further ones must have.
    etag: OnceLock<Option<String>>,
    /// Whether the server sends all or nothing, and all of it, once it came.
    is_whole: AtomicBool,
    whole: tokio::sync::Mutex<Option<File>>,
}

impl WebFile {
    /// A file of known size; with the ETag of the first answer, when there was one.
    pub(crate) fn new(
        client: Arc<WebClient>,
        site: Site,
        size: u64,
        version: Option<String>,
        first_etag: Option<Option<String>>,
    ) -> Self {
        Self {
            client,
            site,
            size,
            version,
            etag: first_etag.map_or_else(OnceLock::new, OnceLock::from),
            is_whole: AtomicBool::new(false),
            whole: tokio::sync::Mutex::new(None),
        }
    }

    fn changed(&self) -> Error {
        Error::Changed {
            address: self.site.name.clone(),
        }
    }

    /// Fetches a range, or learns that the server knows none.
    async fn part(&self, range: &Range<u64>) -> Result<Option<Bytes>, Failure> {
        let response = self.client.send(&self.site, Some(range)).await?;
        let headers = response.headers();
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::RANGE_NOT_SATISFIABLE => return Err(self.changed().into()),
            _ => return Ok(None),
        }
        if content_range(headers).is_some_and(|(first, size)| {
            first != range.start || size.is_some_and(|size| size != self.size)
        }) {
            return Err(self.changed().into());
        }
        let etag = etag(headers);
        if *self.etag.get_or_init(|| etag.clone()) != etag {
            return Err(self.changed().into());
        }
        let n = range.end - range.start;
        let bytes = self.client.collect(response, n).await?;
        if bytes.len() as u64 != n {
            return Err(passing(format!(
                "the server sent {} of {n} bytes",
                bytes.len()
            )));
        }
        Ok(Some(bytes))
    }

    /// Writes all of it to a temporary file.
    async fn download(&self) -> Result<File, Failure> {
        let spool = |source| Error::Spool {
            address: self.site.name.clone(),
            source,
        };
        let mut file = tempfile::tempfile().map_err(spool)?;
        let response = self.client.send(&self.site, None).await?;
        let mut body = response.into_body().bytes_stream();
        let mut n_bytes = 0;
        loop {
            match timeout(self.client.waits.silence, body.next()).await {
                Ok(None) => break,
                Ok(Some(Ok(more))) => {
                    n_bytes += more.len() as u64;
                    if n_bytes > self.size {
                        return Err(self.changed().into());
                    }
                    file.write_all(&more).map_err(spool)?;
                }
                Ok(Some(Err(error))) => return Err(passing(told(&error))),
                Err(_) => return Err(passing("the server stopped sending")),
            }
        }
        if n_bytes < self.size {
            return Err(passing(format!(
                "the server sent {n_bytes} of {} bytes",
                self.size
            )));
        }
        Ok(file)
    }

    async fn get(&self, range: Range<u64>) -> Result<Bytes, Error> {
        if !self.is_whole.load(Ordering::Relaxed) {
            let name = &self.site.name;
            let part = self.client.tried(name, || self.part(&range)).await?;
            if let Some(bytes) = part {
                return Ok(bytes);
            }
            self.is_whole.store(true, Ordering::Relaxed);
        }
        let mut whole = self.whole.lock().await;
        let file = match &mut *whole {
            Some(file) => file,
            empty => {
                let name = &self.site.name;
                empty.insert(self.client.tried(name, || self.download()).await?)
            }
        };
        read_part(file, &range).map_err(|source| Error::Spool {
            address: self.site.name.clone(),
            source,
        })
    }
}

fn read_part(file: &mut File, range: &Range<u64>) -> io::Result<Bytes> {
    let length =
        usize::try_from(range.end - range.start).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(range.start))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes.into())
}

impl Fetch for WebFile {
    fn fetch(self: Arc<Self>, range: Range<u64>) -> BoxFuture<'static, Result<Bytes, Error>> {
        async move { self.get(range).await }.boxed()
    }

    fn etag(&self) -> Option<&str> {
        let answered = || self.etag.get()?.as_deref();
        self.version.as_deref().or_else(answered)
    }
}

/// Reads the one answer of a server that sends all or nothing.
struct BodyReader {
    name: String,
    body: Option<Body>,
    at_hand: Bytes,
    n_read: u64,
    silence: Duration,
    worker: Arc<Worker>,
}

impl BodyReader {
    /// Waits for the next bytes; none are the end.
    fn more(&mut self) -> io::Result<()> {
        let Some(mut body) = self.body.take() else {
            return Ok(());
        };
        let silence = self.silence;
        let (body, bytes, failure) = self.worker.run(async move {
            let mut bytes = BytesMut::new();
            while bytes.len() < STREAM_BYTES {
                match timeout(silence, body.next()).await {
                    Ok(None) => return (None, bytes, None),
                    Ok(Some(Ok(more))) => bytes.extend_from_slice(&more),
                    Ok(Some(Err(error))) => return (None, bytes, Some(told(&error))),
                    Err(_) => {
                        let silent = "the server stopped sending".to_owned();
                        return (None, bytes, Some(silent));
                    }
                }
            }
            (Some(body), bytes, None)
        })?;
        self.body = body;
        self.at_hand = bytes.freeze();
        self.n_read += self.at_hand.len() as u64;
        match failure {
            None => Ok(()),
            Some(detail) => Err(Error::Truncated {
                address: self.name.clone(),
                n_bytes: self.n_read,
                detail,
            }
            .into()),
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at_hand.is_empty() {
            self.more()?;
        }
        let n = self.at_hand.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.at_hand.split_to(n));
        Ok(n)
    }
}
