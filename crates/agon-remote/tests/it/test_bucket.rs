//! Object stores, by the protocol of Amazon's, which object_store's own client speaks to a server of ours.

use axum::{
    http::{Method, StatusCode},
    response::{IntoResponse as _, Response},
};

use crate::{
    server::{Asked, Behaviour, Server, files},
    votes::{CSV, long_csv, parquet, read_address, remote},
};

const SECRET: &str = "averysecretaccesskey";

/// Keys right below a prefix and the folders among them, two to a page (`ListObjectsV2`).
fn list(keys: &[(String, usize)], asked: &Asked) -> Response {
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(asked.uri.query().unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    let value = |name: &str| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value.as_str())
    };
    let (prefix, delimiter) = (value("prefix"), value("delimiter"));
    let first: usize = value("continuation-token").parse().unwrap_or(0);
    let mut contents = Vec::new();
    for (key, size) in keys {
        let Some(rest) = key.strip_prefix(prefix) else {
            continue;
        };
        let entry = match rest.split_once('/') {
            Some((folder, _)) if delimiter == "/" => {
                format!("<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>")
            }
            _ => format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"v1\"</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            ),
        };
        if !contents.contains(&entry) {
            contents.push(entry);
        }
    }
    let next = first + 2;
    let page: String = contents.iter().skip(first).take(2).cloned().collect();
    let more = if next < contents.len() {
        format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>"
        )
    } else {
        "<IsTruncated>false</IsTruncated>".to_owned()
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name><Prefix>{prefix}</Prefix><KeyCount>2</KeyCount><MaxKeys>2</MaxKeys>{more}{page}</ListBucketResult>"
    )
    .into_response()
}

fn store(objects: &[(&str, &[u8])], is_signed: bool) -> Server {
    let keys: Vec<(String, usize)> = objects
        .iter()
        .map(|(key, bytes)| ((*key).to_owned(), bytes.len()))
        .collect();
    let paths: Vec<(String, &[u8])> = objects
        .iter()
        .map(|(key, bytes)| (format!("/bucket/{key}"), *bytes))
        .collect();
    let paths: Vec<(&str, &[u8])> = paths
        .iter()
        .map(|(path, bytes)| (path.as_str(), *bytes))
        .collect();
    Server::with(files(&paths), move |asked| {
        let authorization = asked.header("authorization").unwrap_or_default();
        let is_right = authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKID/")
            && authorization.contains("SignedHeaders=")
            && authorization.contains("Signature=");
        if is_signed && !is_right {
            return Some(
                (
                    StatusCode::FORBIDDEN,
                    format!("<Error><Code>AccessDenied</Code><Said>{authorization}</Said></Error>"),
                )
                    .into_response(),
            );
        }
        let is_list =
            asked.method == Method::GET && asked.uri.path().trim_end_matches('/') == "/bucket";
        is_list.then(|| list(&keys, asked))
    })
}

fn variables(endpoint: &str) -> Vec<(&str, &str)> {
    vec![
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_REGION", "eu-west-1"),
    ]
}

#[test]
fn objects_folders_and_patterns_are_found() {
    let table = parquet(3, 100_000);
    let text = long_csv(300_000);
    let server = store(
        &[
            ("a b.csv", CSV.as_bytes()),
            ("loose/.hidden", CSV.as_bytes()),
            ("loose/1.csv", CSV.as_bytes()),
            ("loose/2.csv", text.as_bytes()),
            ("loose/README.md", b"# Card\n"),
            ("loose/below/3.csv", CSV.as_bytes()),
            ("release/README.md", b"# Card\n"),
            ("release/data/0.parquet", &table),
            ("release/data/1.parquet", &table),
            ("release/data/2.parquet", &table),
        ],
        true,
    );
    let endpoint = server.url("");
    let remote = remote(&variables(&endpoint));
    for (key, n_sources, n_skipped) in [
        ("a b.csv", 1, 0),
        ("loose/1.csv", 1, 0),
        ("loose", 2, 1),
        ("loose/", 2, 1),
        ("loose/*.csv", 2, 0),
        ("loose/*/*.csv", 1, 0),
        ("release", 3, 0),
        ("", 1, 0),
    ] {
        let report = read_address(&remote, &format!("s3://bucket/{key}"))
            .unwrap()
            .report;
        assert_eq!(
            (report.sources.len(), report.skipped.len()),
            (n_sources, n_skipped),
            "{key}"
        );
        assert_eq!(report.sources[0].etag.as_deref(), Some("\"v1\""));
    }
    let error = read_address(&remote, "s3://bucket/other").unwrap_err();
    assert_eq!(
        error,
        "`s3://bucket/other` is not there: the bucket has no object of this name, and none below it"
    );
    let error = read_address(&remote, "s3://bucket/loose/*.tsv").unwrap_err();
    assert!(error.contains("no object matches this pattern"), "{error}");
}

#[test]
fn of_parquet_in_a_bucket_only_the_needed_columns_are_fetched() {
    let table = parquet(20, 500_000);
    let server = store(&[("votes.parquet", &table)], true);
    let endpoint = server.url("");
    let remote = remote(&variables(&endpoint));
    let report = read_address(&remote, "s3://bucket/votes.parquet")
        .unwrap()
        .report;
    assert_eq!(report.kept, 40);
    assert!(server.n_bytes() < 300_000, "{}", server.n_bytes());
}

#[test]
fn refusals_say_which_credentials_are_used_and_never_what_they_are() {
    let server = store(&[("votes.csv", CSV.as_bytes())], true);
    let endpoint = server.url("");
    let without = remote(&[("AWS_ENDPOINT_URL", &endpoint), ("AWS_ALLOW_HTTP", "true")]);
    let error = read_address(&without, "s3://bucket/votes.csv").unwrap_err();
    assert!(
        error.contains(
            "(the server says 403): no credentials are in the environment: set AWS_ACCESS_KEY_ID"
        ),
        "{error}"
    );
    assert_eq!(server.asked()[0].header("authorization"), None);

    let mut wrong = variables(&endpoint);
    wrong[2].1 = "WRONGKEYID";
    let wrong = remote(&wrong);
    for key in ["votes.csv", "folder/", "*.csv"] {
        let error = read_address(&wrong, &format!("s3://bucket/{key}")).unwrap_err();
        assert!(
            error.contains(
                "(the server says 403): the credentials in the environment have no access"
            ),
            "{error}"
        );
        assert!(
            !error.contains("WRONGKEYID") && !error.contains(SECRET),
            "{error}"
        );
    }
    assert!(!format!("{wrong:?}").contains(SECRET));
    let unencrypted = remote(&[("AWS_ENDPOINT_URL", &endpoint)]);
    let error = read_address(&unencrypted, "s3://bucket/votes.csv").unwrap_err();
    assert!(error.contains("cannot be fetched"), "{error}");
}

#[test]
fn a_public_bucket_needs_no_credentials() {
    let server = store(&[("votes.csv", CSV.as_bytes())], false);
    let endpoint = server.url("");
    let remote = remote(&[("AWS_ENDPOINT_URL", &endpoint), ("AWS_ALLOW_HTTP", "true")]);
    let report = read_address(&remote, "s3://bucket/votes.csv")
        .unwrap()
        .report;
    assert_eq!(report.kept, 2);
    for asked in server.asked() {
        assert_eq!(asked.header("authorization"), None);
    }
}

#[test]
fn a_bucket_in_another_region_says_so() {
    for (status, body, expected) in [
        (
            StatusCode::BAD_REQUEST,
            "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'eu-west-1' is wrong</Message><Region>us-east-2</Region></Error>",
            "is in another region (`us-east-2`): set AWS_REGION",
        ),
        (
            StatusCode::MOVED_PERMANENTLY,
            "<Error><Code>PermanentRedirect</Code></Error>",
            "is in another region: set AWS_REGION",
        ),
    ] {
        let server = Server::with(Behaviour::default(), move |_| {
            Some((status, body).into_response())
        });
        let endpoint = server.url("");
        let remote = remote(&variables(&endpoint));
        for key in ["votes/", "votes/*.csv"] {
            let error = read_address(&remote, &format!("s3://bucket/{key}")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn what_may_pass_is_tried_again_and_the_rest_is_told() {
    let text = long_csv(1_000_000);
    for behaviour in [
        Behaviour {
            n_unavailable: 2,
            ..Behaviour::default()
        },
        Behaviour {
            n_broken: 2,
            ..Behaviour::default()
        },
    ] {
        let server = Server::start(Behaviour {
            files: files(&[("/bucket/votes", text.as_bytes())]).files,
            ..behaviour
        });
        let endpoint = server.url("");
        let report = read_address(&remote(&variables(&endpoint)), "s3://bucket/votes")
            .unwrap()
            .report;
        assert_eq!(report.kept, text.lines().count() as u64 - 1);
    }
    let server = Server::start(Behaviour {
        n_unavailable: 999,
        ..Behaviour::default()
    });
    let endpoint = server.url("");
    let error = read_address(&remote(&variables(&endpoint)), "s3://bucket/votes").unwrap_err();
    assert_eq!(
        error,
        "`s3://bucket/votes` cannot be fetched: the server answers 503 Service Unavailable; tried 4 times"
    );
    let server = Server::start(Behaviour {
        is_changing: true,
        ..files(&[("/bucket/votes", text.as_bytes())])
    });
    let endpoint = server.url("");
    let error = read_address(&remote(&variables(&endpoint)), "s3://bucket/votes").unwrap_err();
    assert!(error.contains("changed while it was read"), "{error}");
}

#[test]
fn google_speaks_the_same_way() {
    let server = store(
        &[
            ("votes.csv", CSV.as_bytes()),
            ("data/0.parquet", &parquet(2, 100)),
        ],
        false,
    );
    let account = format!(
        r#"{{"gcs_base_url":"{}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#,
        server.url("")
    );
    let remote = remote(&[
        ("GOOGLE_SERVICE_ACCOUNT_KEY", &account),
        ("GOOGLE_ALLOW_HTTP", "true"),
    ]);
    for (key, kept) in [("votes.csv", 2), ("", 4)] {
        let report = read_address(&remote, &format!("gs://bucket/{key}"))
            .unwrap()
            .report;
        assert_eq!(report.kept, kept, "{key}");
    }
}

#[test]
fn azure_needs_the_name_of_an_account() {
    let error = read_address(&remote(&[]), "az://container/votes.csv").unwrap_err();
    assert!(
        error.contains("cannot be reached with these settings"),
        "{error}"
    );
    let server = Server::with(
        files(&[("/container/votes.csv", CSV.as_bytes())]),
        |asked| {
            let authorization = asked.header("authorization")?;
            assert!(!authorization.contains("c2VjcmV0"));
            None
        },
    );
    let endpoint = server.url("");
    let remote = remote(&[
        ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0"),
        ("AZURE_STORAGE_ENDPOINT", &endpoint),
        ("AZURE_ALLOW_HTTP", "true"),
    ]);
    let report = read_address(&remote, "az://container/votes.csv")
        .unwrap()
        .report;
    assert_eq!(report.kept, 2);
    assert!(
        server.asked()[0]
            .header("authorization")
            .unwrap()
            .starts_with("SharedKey account:")
    );
}
