//! Files on web servers.

use axum::{
    http::{StatusCode, header},
    response::IntoResponse as _,
};

use crate::{
    server::{Behaviour, Server, files},
    votes::{CSV, gzip, long_csv, parquet, read, read_address, remote},
};

#[test]
fn text_is_read_with_its_checksum_and_version() {
    let server = Server::start(files(&[("/votes.csv", CSV.as_bytes())]));
    let address = server.url("/votes.csv");
    let report = read_address(&remote(&[]), &address).unwrap().report;
    assert_eq!(report.kept, 2);
    assert_eq!(report.sources[0].path, address);
    assert_eq!(report.sources[0].etag.as_deref(), Some("\"v1\""));
    assert_eq!(report.sources[0].sha256.as_ref().unwrap().len(), 64);
    assert_eq!(
        server.asked().len(),
        1,
        "it is small enough for one request"
    );
}

#[test]
fn of_parquet_only_the_needed_columns_are_fetched() {
    let table = parquet(20, 500_000);
    let server = Server::start(files(&[("/votes", &table)]));
    let report = read_address(&remote(&[]), &server.url("/votes"))
        .unwrap()
        .report;
    assert_eq!(report.kept, 40);
    assert_eq!(report.sources[0].sha256, None, "it was not fetched whole");
    assert!(table.len() > 10_000_000);
    assert!(server.n_bytes() < 300_000, "{}", server.n_bytes());
    assert!(server.asked().len() <= 24, "{}", server.asked().len());
}

#[test]
fn columns_that_lie_together_come_in_one_request() {
    let table = parquet(100, 2_000);
    let server = Server::start(files(&[("/votes", &table)]));
    let report = read_address(&remote(&[]), &server.url("/votes"))
        .unwrap()
        .report;
    assert_eq!(report.kept, 200);
    assert!(table.len() > 200_000);
    assert!(server.asked().len() <= 4, "{}", server.asked().len());
}

#[test]
fn long_text_comes_in_pieces() {
    let text = long_csv(20_000_000);
    let n_rows = text.lines().count() as u64 - 1;
    let server = Server::start(files(&[
        ("/a.csv", text.as_bytes()),
        ("/b", &gzip(text.as_bytes())),
    ]));
    let report = read_address(&remote(&[]), &server.url("/a.csv"))
        .unwrap()
        .report;
    assert_eq!(report.kept, n_rows);
    assert_eq!(server.asked().len(), 4);
    let report = read_address(&remote(&[]), &server.url("/b"))
        .unwrap()
        .report;
    assert_eq!(report.kept, n_rows);
}

#[test]
fn a_server_without_ranges_sends_all() {
    for has_no_lengths in [false, true] {
        let text = long_csv(3_000_000);
        let server = Server::start(Behaviour {
            has_no_ranges: true,
            has_no_lengths,
            ..files(&[
                ("/a.csv", text.as_bytes()),
                ("/b", &parquet(3, 100_000)),
                ("/c.gz", &gzip(CSV.as_bytes())),
            ])
        });
        let remote = remote(&[]);
        let kept = |path| {
            read_address(&remote, &server.url(path))
                .unwrap()
                .report
                .kept
        };
        assert_eq!(kept("/a.csv"), text.lines().count() as u64 - 1);
        assert_eq!(kept("/b"), 6);
        assert_eq!(kept("/c.gz"), 2);
        assert_eq!(server.asked().len(), 3, "each was asked for once");
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    let text = long_csv(1_000_000);
    for behaviour in [
        Behaviour {
            n_unavailable: 3,
            ..Behaviour::default()
        },
        Behaviour {
            n_broken: 3,
            ..Behaviour::default()
        },
        Behaviour {
            n_silent: 2,
            ..Behaviour::default()
        },
    ] {
        let server = Server::start(Behaviour {
            files: files(&[("/votes", text.as_bytes())]).files,
            ..behaviour
        });
        let report = read_address(&remote(&[]), &server.url("/votes"))
            .unwrap()
            .report;
        assert_eq!(report.kept, text.lines().count() as u64 - 1);
    }
}

#[test]
fn what_does_not_pass_is_told_in_words() {
    let remote = remote(&[]);
    let refuse = |behaviour: Behaviour, path: &str| {
        let server = Server::start(Behaviour {
            files: files(&[("/votes", long_csv(1_000_000).as_bytes())]).files,
            ..behaviour
        });
        let error = read_address(&remote, &server.url(path)).unwrap_err();
        error.replace(&server.url(""), "")
    };
    assert_eq!(
        refuse(Behaviour::default(), "/other?sig=secret"),
        "`/other` is not there: check the address"
    );
    assert_eq!(
        refuse(
            Behaviour {
                n_unavailable: 99,
                ..Behaviour::default()
            },
            "/votes"
        ),
        "`/votes` cannot be fetched: the server answers 503 Service Unavailable; tried 4 times"
    );
    assert_eq!(
        refuse(
            Behaviour {
                n_silent: 99,
                ..Behaviour::default()
            },
            "/votes"
        ),
        "`/votes` cannot be fetched: the server stopped sending; tried 4 times"
    );
    let error = refuse(
        Behaviour {
            n_broken: 99,
            has_no_ranges: true,
            ..Behaviour::default()
        },
        "/votes",
    );
    assert!(
        error.starts_with("cannot read `/votes`: the transfer of `/votes` broke off after")
            && error.ends_with("download the file and give its path"),
        "{error}"
    );
    let error = refuse(
        Behaviour {
            is_changing: true,
            ..Behaviour::default()
        },
        "/votes",
    );
    assert!(!error.contains("secret"));
    assert_eq!(remote.resolve("votes.csv").unwrap().map(|_| ()), None);
    let error = remote
        .resolve("http://127.0.0.1:1/votes")
        .unwrap_err()
        .to_string();
    assert!(error.contains("tried 4 times"), "{error}");
}

#[test]
fn a_file_that_changes_is_not_mixed() {
    let text = long_csv(20_000_000);
    let server = Server::start(Behaviour {
        is_changing: true,
        ..files(&[("/votes", text.as_bytes())])
    });
    let error = read_address(&remote(&[]), &server.url("/votes")).unwrap_err();
    assert!(
        error.ends_with("changed while it was read: start again"),
        "{error}"
    );
}

#[test]
fn the_query_is_sent_and_never_shown() {
    let server = Server::start(files(&[("/votes", b"a,b\n1,2\n"), ("/empty", b"")]));
    let remote = remote(&[]);
    let error = read_address(&remote, &server.url("/votes?signature=hunter2")).unwrap_err();
    assert!(
        error.contains("/votes`") && !error.contains("hunter2"),
        "{error}"
    );
    assert_eq!(server.asked()[0].uri.query(), Some("signature=hunter2"));
    let inputs = remote
        .resolve(&server.url("/votes?signature=hunter2"))
        .unwrap();
    assert!(!format!("{remote:?} {inputs:?}").contains("hunter2"));
    assert_eq!(
        read_address(&remote, &server.url("/empty"))
            .unwrap()
            .report
            .rows,
        0
    );
}

#[test]
fn it_works_on_a_thread_of_another_runtime() {
    let server = Server::start(files(&[("/votes", long_csv(1_000_000).as_bytes())]));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let remote = remote(&[]);
        let inputs = remote.resolve(&server.url("/votes")).unwrap().unwrap();
        drop(remote);
        assert!(read(inputs).unwrap().report.kept > 0);
    });
}

#[test]
fn a_server_that_claims_to_have_endless_bytes_takes_no_memory() {
    for head in ["model_a,model_b,winner\n", "PAR1"] {
        let server = Server::with(Behaviour::default(), move |asked| {
            let range = asked
                .header("range")
                .unwrap()
                .strip_prefix("bytes=")
                .unwrap();
            let (first, last) = range.split_once('-').unwrap();
            let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
            if first > 20_000_000 && first < u64::MAX / 2 {
                return Some(StatusCode::INTERNAL_SERVER_ERROR.into_response());
            }
            let mut body = vec![b'\n'; usize::try_from(last - first + 1).unwrap()];
            if first == 0 {
                body[..head.len()].copy_from_slice(head.as_bytes());
            }
            let range = format!("bytes {first}-{last}/{}", u64::MAX);
            Some(
                (
                    StatusCode::PARTIAL_CONTENT,
                    [(header::CONTENT_RANGE, range)],
                    body,
                )
                    .into_response(),
            )
        });
        assert!(read_address(&remote(&[]), &server.url("/votes")).is_err());
    }
}
