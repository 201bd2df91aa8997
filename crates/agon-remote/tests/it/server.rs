//! A server of files that behaves as it is told, and remembers what it was asked.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};

/// What is asked of a server.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// Bytes of the answer, when it is a file or a part of one.
    pub(crate) n_bytes: usize,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// How a server behaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) files: BTreeMap<String, Bytes>,
    /// All or nothing.
    pub(crate) has_no_ranges: bool,
    /// Does not say how long an answer is.
    pub(crate) has_no_lengths: bool,
    /// The first so many answers are failures.
    pub(crate) n_unavailable: usize,
    /// The first so many answers break off in the middle.
    pub(crate) n_broken: usize,
    /// The first so many answers begin and go no further.
    pub(crate) n_silent: usize,
    /// Each answer has another ETag.
    pub(crate) is_changing: bool,
}

type Special = dyn Fn(&Asked) -> Option<Response> + Send + Sync;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

struct Inside {
    behaviour: Mutex<Behaviour>,
    special: Box<Special>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        Self::with(behaviour, |_| None)
    }

    /// A server that looks at `special` first.
    pub(crate) fn with(
        behaviour: Behaviour,
        special: impl Fn(&Asked) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let inside = Arc::new(Inside {
            behaviour: Mutex::new(behaviour),
            special: Box::new(special),
            asked: Arc::clone(&asked),
        });
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(inside);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            asked,
            _runtime: runtime,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.asked().iter().map(|asked| asked.n_bytes).sum()
    }
}

pub(crate) fn files(files: &[(&str, &[u8])]) -> Behaviour {
    Behaviour {
        files: files
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), Bytes::copy_from_slice(bytes)))
            .collect(),
        ..Behaviour::default()
    }
}

async fn answer(State(inside): State<Arc<Inside>>, request: Request) -> Response {
    let mut asked = Asked {
        method: request.method().clone(),
        uri: request.uri().clone(),
        headers: request.headers().clone(),
        n_bytes: 0,
    };
    let response = match (inside.special)(&asked) {
        Some(response) => response,
        None => {
            let mut behaviour = inside.behaviour.lock().unwrap();
            let n_before = inside.asked.lock().unwrap().len();
            file(&mut behaviour, &mut asked, n_before)
        }
    };
    inside.asked.lock().unwrap().push(asked);
    response
}

/// A path without its percent signs.
fn decoded(path: &str) -> String {
    url::form_urlencoded::parse(path.replace('+', "%2B").as_bytes())
        .map(|(path, _)| path.into_owned())
        .collect()
}

fn counted(n: &mut usize) -> bool {
    let is_left = *n > 0;
    *n = n.saturating_sub(1);
    is_left
}

fn file(behaviour: &mut Behaviour, asked: &mut Asked, n_before: usize) -> Response {
    if counted(&mut behaviour.n_unavailable) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let path = decoded(asked.uri.path());
    let Some(bytes) = behaviour.files.get(&path).cloned() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let version = if behaviour.is_changing { n_before } else { 1 };
    let mut response = Response::builder()
        .header(header::ETAG, format!("\"v{version}\""))
        .header(header::LAST_MODIFIED, "Thu, 01 Jan 2026 00:00:00 GMT");
    let range = asked
        .header("range")
        .filter(|_| !behaviour.has_no_ranges)
        .and_then(|range| range.strip_prefix("bytes=")?.split_once('-'))
        .map(|(first, last)| (first.parse().unwrap(), last.parse().unwrap()))
        .map(|(first, last): (usize, usize)| (first, last));
    let body = match range {
        Some((first, _)) if first >= bytes.len() => {
            return response
                .status(StatusCode::RANGE_NOT_SATISFIABLE)
                .header(header::CONTENT_RANGE, format!("bytes */{}", bytes.len()))
                .body(Body::empty())
                .unwrap();
        }
        Some((first, last)) => {
            let last = bytes.len().min(last + 1) - 1;
            response = response.status(StatusCode::PARTIAL_CONTENT).header(
                header::CONTENT_RANGE,
                format!("bytes {first}-{last}/{}", bytes.len()),
            );
            bytes.slice(first..=last)
        }
        None => bytes,
    };
    if asked.method == Method::HEAD {
        return response
            .header(header::CONTENT_LENGTH, body.len())
            .body(Body::empty())
            .unwrap();
    }
    asked.n_bytes = body.len();
    if !behaviour.has_no_lengths {
        response = response.header(header::CONTENT_LENGTH, body.len());
    }
    let half = body.slice(..body.len() / 2);
    let body = if counted(&mut behaviour.n_broken) {
        // Without a pause, the whole connection is gone before the first bytes are sent.
        Body::from_stream(futures_util::stream::unfold(0, move |step| {
            let half = half.clone();
            async move {
                match step {
                    0 => Some((Ok(half), 1)),
                    _ => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        Some((Err(std::io::Error::other("broken")), 2))
                    }
                }
            }
        }))
    } else if counted(&mut behaviour.n_silent) {
        Body::from_stream(futures_util::stream::unfold(0, move |step| {
            let half = half.clone();
            async move {
                if step > 0 {
                    tokio::time::sleep(Duration::from_secs(3_600)).await;
                }
                Some((Ok::<_, std::io::Error>(half), step + 1))
            }
        }))
    } else if behaviour.has_no_lengths {
        Body::from_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(body)]))
    } else {
        Body::from(body)
    };
    response.body(body).unwrap()
}
