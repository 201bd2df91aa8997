//! A stand-in for a provider on a real socket, which does exactly what it is told, well-formed or not.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep},
};

/// One thing that the double does after it has read a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Send(Vec<u8>),
    PauseMs(u64),
    /// Keeps the connection open, silent, until the other side closes it.
    Hang,
    /// Sends the same bytes until the other side closes.
    Flood(Vec<u8>),
    /// Breaks the connection with a reset instead of an end.
    Reset,
}

pub(crate) fn send(bytes: impl Into<Vec<u8>>) -> Act {
    Act::Send(bytes.into())
}

/// A status line and headers of an answer in chunks.
pub(crate) fn head(status: &str, headers: &str) -> Act {
    send(format!(
        "HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n{headers}\r\n"
    ))
}

/// The head of a successful event stream.
pub(crate) fn events_head() -> Act {
    head("200 OK", "content-type: text/event-stream\r\n")
}

/// One chunk of the transfer.
pub(crate) fn chunk(text: &str) -> Act {
    send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// One event with a piece of the answer.
pub(crate) fn token(text: &str) -> Act {
    let text = serde_json::to_string(text).unwrap();
    chunk(&format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n"
    ))
}

/// The finish, the marker and the last chunk.
pub(crate) fn stop() -> Act {
    let events = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    send(format!("{:x}\r\n{events}\r\n0\r\n\r\n", events.len()))
}

/// A whole answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<Act> {
    vec![send(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    ))]
}

/// When each request was complete, its head and its body.
type Requests = Arc<Mutex<Vec<(Instant, String, Vec<u8>)>>>;

/// The double. Requests so far are kept; it stops when dropped.
pub(crate) struct Double {
    pub(crate) address: SocketAddr,
    requests: Requests,
    /// When a connection on which it hung or flooded was closed by the other side.
    pub(crate) closed: mpsc::UnboundedReceiver<Instant>,
    task: JoinHandle<()>,
}

impl Drop for Double {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Double {
    /// Does the first list for the first request, the second for the second, and the last for all after it.
    pub(crate) async fn start(plays: Vec<Vec<Act>>) -> Self {
        Self::answering(move |n_served, _, _| {
            plays
                .get(n_served)
                .or(plays.last())
                .cloned()
                .unwrap_or_default()
        })
        .await
    }

    /// Does what `play` says for each connection's number and its request's head and body.
    pub(crate) async fn answering(
        play: impl Fn(usize, &str, &[u8]) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = mpsc::unbounded_channel();
        let seen = Arc::clone(&requests);
        let play = Arc::new(play);
        let task = tokio::spawn(async move {
            let mut n_served = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let play = Arc::clone(&play);
                let play = move |head: &str, body: &[u8]| play(n_served, head, body);
                n_served += 1;
                tokio::spawn(serve(socket, play, Arc::clone(&seen), sender.clone()));
            }
        });
        Self {
            address,
            requests,
            closed,
            task,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Head and body of each request, in order.
    pub(crate) fn requests(&self) -> Vec<(String, serde_json::Value)> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|(_, head, body)| (head.clone(), serde_json::from_slice(body).unwrap()))
            .collect()
    }

    /// Head and body of each request as they came, in order.
    pub(crate) fn raw_requests(&self) -> Vec<(String, Vec<u8>)> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|(_, head, body)| (head.clone(), body.clone()))
            .collect()
    }

    /// When each request was complete.
    pub(crate) fn request_times(&self) -> Vec<Instant> {
        self.requests
            .lock()
            .unwrap()
            .iter()
            .map(|(at, ..)| *at)
            .collect()
    }
}

async fn serve(
    mut socket: TcpStream,
    play: impl Fn(&str, &[u8]) -> Vec<Act>,
    requests: Requests,
    closed: mpsc::UnboundedSender<Instant>,
) {
    let mut received = Vec::new();
    let (head_end, length) = loop {
        if socket.read_buf(&mut received).await.unwrap_or(0) == 0 {
            return;
        }
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .map_or(0, |length| length.trim().parse().unwrap());
        break (end + 4, length);
    };
    while received.len() < head_end + length {
        if socket.read_buf(&mut received).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&received[..head_end]).into_owned();
    let body = received[head_end..].to_vec();
    let play = play(&head, &body);
    requests.lock().unwrap().push((Instant::now(), head, body));
    for act in play {
        match act {
            Act::Send(bytes) => {
                if socket.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Act::PauseMs(ms) => sleep(Duration::from_millis(ms)).await,
            Act::Hang => {
                let mut rest = [0; 64];
                while socket.read(&mut rest).await.unwrap_or(0) > 0 {}
                let _unheard = closed.send(Instant::now());
                return;
            }
            Act::Flood(bytes) => {
                while socket.write_all(&bytes).await.is_ok() {}
                let _unheard = closed.send(Instant::now());
                return;
            }
            Act::Reset => {
                socket.set_zero_linger().unwrap();
                return;
            }
        }
    }
    let _unheard = socket.shutdown().await;
}
