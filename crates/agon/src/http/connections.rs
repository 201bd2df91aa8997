//! Accepting connections, with limits on what an idle or hostile peer may hold.
//!
//! `axum::serve` sets none: a peer that never ends its headers, or never reads its answer, would keep its connection and memory for good.

use std::{
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{Router, extract::ConnectInfo};
use hyper::{
    Request,
    body::Incoming,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::{Sleep, sleep},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long a peer may take for the headers of a request, in seconds. An idle connection is closed after it too.
const HEADERS_S: u64 = 10;
/// How long a peer may read nothing of what waits for it, in seconds.
const STALL_S: u64 = 30;
/// How many bytes the head of a request may have.
const HEAD_BYTES_MAX: u32 = 16 * 1024;
/// How many bytes tell HTTP/2 from HTTP/1.
const PREFACE_BYTES: usize = 24;
/// How long to wait before accepting again when the system has no descriptors left, in milliseconds.
const ACCEPT_PAUSE_MS: u64 = 200;

/// Limits on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// How long the headers of a request, and the wait for it, may take.
    pub headers: Duration,
    /// How long the peer may read nothing of what waits for it.
    pub stall: Duration,
}

impl Default for ConnectionLimits {
    /// 10 seconds for the headers, 30 seconds without reading.
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(HEADERS_S),
            stall: Duration::from_secs(STALL_S),
        }
    }
}

/// Serves until `stopping` is cancelled and the requests that run then are answered, for which [`ConnectionLimits::stall`] is waited.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    stopping: CancellationToken,
) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // A peer that left while it was waiting is no fault of the listener's.
                if !is_about_the_peer(&error) {
                    tracing::warn!(error = %error, "no connection can be accepted");
                    sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                }
                continue;
            }
        };
        let connection = serve_one(stream, address, router.clone(), limits, stopping.clone());
        connections.spawn(connection);
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(limits.stall, connections.wait())
        .await
        .is_err()
    {
        tracing::warn!(
            n_open = connections.len(),
            "stopped while connections were open"
        );
    }
}

fn is_about_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

async fn serve_one(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    limits: ConnectionLimits,
    stopping: CancellationToken,
) {
    // Small events are to leave at once. A socket that cannot be set up so is slower, no more.
    let _is_set = stream.set_nodelay(true);
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_buf_size(HEAD_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.headers)
        .keep_alive_timeout(limits.headers)
        .max_header_list_size(HEAD_BYTES_MAX);
    let io = TokioIo::new(Unstalled::new(stream, limits));
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(address));
        routes.call(request)
    });
    let mut connection = pin!(builder.serve_connection(io, service));
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::trace!(error = %error, "a connection broke");
    }
}

/// A stream that fails when its peer reads nothing for too long, or does not even begin.
struct Unstalled {
    stream: TcpStream,
    limit: Duration,
    /// Runs until the peer has sent [`PREFACE_BYTES`]: the protocol is told by them, and no other limit holds before it is known.
    beginning: Option<Pin<Box<Sleep>>>,
    n_begun: usize,
    /// Runs while the peer's window is full.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Unstalled {
    fn new(stream: TcpStream, limits: ConnectionLimits) -> Self {
        Self {
            stream,
            limit: limits.stall,
            beginning: Some(Box::pin(sleep(limits.headers))),
            n_begun: 0,
            stalled: None,
        }
    }

    /// Passes on what a write did, or fails when nothing has been written for too long.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer reads nothing",
        )))
    }
}

impl AsyncRead for Unstalled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Some(beginning) = &mut self.beginning {
            if read.is_pending() && beginning.as_mut().poll(context).is_ready() {
                let message = "the peer does not begin";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
            self.n_begun += buffer.filled().len() - n_before;
            if self.n_begun >= PREFACE_BYTES {
                self.beginning = None;
            }
        }
        read
    }
}

impl AsyncWrite for Unstalled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(written, context)
    }
}
