//! Votes that are compressed, in archives, or elsewhere.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use serde_json::Value;

use super::rank::{CSV, file, json, path_text, rank, text};

/// [`CSV`] in gzip.
pub(super) fn gzip() -> Vec<u8> {
    // One stored block, so that the bytes can be made by hand (RFC 1951, section 3.2.4; RFC 1952).
    let content = CSV.as_bytes();
    let length = u16::try_from(content.len()).unwrap();
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(content);
    bytes.extend(crc32(content).to_le_bytes());
    bytes.extend(u32::from(length).to_le_bytes());
    bytes
}

/// ISO 3309, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// Two files in a zip archive, not compressed (PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16).
fn zip(files: [(&str, &str); 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let offset = u32::try_from(bytes.len()).unwrap();
        let size = u32::try_from(content.len()).unwrap();
        let mut entry: Vec<u8> = Vec::new();
        // Version 2.0, no flags, stored, at midnight on 1 January 1980.
        for number in [20, 0, 0, 0, 0x21_u16] {
            entry.extend(number.to_le_bytes());
        }
        for number in [crc32(content.as_bytes()), size, size] {
            entry.extend(number.to_le_bytes());
        }
        for number in [u16::try_from(name.len()).unwrap(), 0] {
            entry.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&entry);
        bytes.extend(name.as_bytes());
        bytes.extend(content.as_bytes());
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&entry);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let offset = u32::try_from(bytes.len()).unwrap();
    let size = u32::try_from(directory.len()).unwrap();
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    bytes.extend(size.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// A server of one file, which it answers with whole or, as it is small, with its first and only part and a version.
fn serve(content: Vec<u8>, is_whole: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).unwrap();
            let size = content.len();
            let status = if is_whole {
                "200 OK".to_owned()
            } else {
                format!(
                    "206 Partial Content\r\ncontent-range: bytes 0-{}/{size}\r\netag: \"v1\"",
                    size - 1
                )
            };
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n"
            )
            .unwrap();
            stream.write_all(&content).unwrap();
        }
    });
    format!("http://{address}/votes.csv.gz")
}

#[test]
fn compressed_and_remote_votes_give_the_same_board() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("votes.csv");
    let packed = folder.path().join("packed");
    std::fs::write(&plain, CSV).unwrap();
    std::fs::write(&packed, gzip()).unwrap();
    let ratings = |output| {
        let board = json(&output);
        assert!(board["leaderboards"][0].is_object(), "{board}");
        board["leaderboards"].clone()
    };
    let expected = ratings(rank(&[path_text(&plain), "--json"], None));
    assert_eq!(
        ratings(rank(&[path_text(&packed), "--json"], None)),
        expected
    );
    assert_eq!(ratings(rank(&["-", "--json"], Some(&gzip()))), expected);
    let address = serve(gzip(), true);
    let output = rank(&[&address, "--json"], None);
    let source = json(&output)["input"]["sources"][0].clone();
    assert_eq!(source["path"], address);
    assert_eq!(source["etag"], Value::Null);
    assert_eq!(ratings(output), expected);
}

#[test]
fn files_of_an_archive_are_sources_with_their_names() {
    let (_folder, path) = file("votes", "");
    std::fs::write(&path, zip([("may.csv", CSV), ("june.csv", CSV)])).unwrap();
    let document = json(&rank(&[path_text(&path), "--json"], None));
    assert_eq!(document["input"]["kept"], 20);
    let sources = document["input"]["sources"].as_array().unwrap();
    let members: Vec<&Value> = sources.iter().map(|source| &source["member"]).collect();
    assert_eq!(members, ["june.csv", "may.csv"]);
    assert_eq!(sources[0]["sha256"], sources[1]["sha256"]);
    assert_eq!(sources[0]["etag"], Value::Null);
}

#[test]
fn ids_behind_an_address_are_fetched_only_to_reject_repeated_ones() {
    let votes = "id,model_a,model_b,winner\n1,a,b,model_a\n2,b,a,model_a\n2,b,a,model_a\n";
    let (_folder, path) = file("votes.csv", votes);
    let here = json(&rank(&[path_text(&path), "--json"], None));
    assert_eq!(here["input"]["repeated_ids"], 1);
    let address = serve(votes.into(), false);
    let there = json(&rank(&[&address, "--json"], None));
    assert_eq!(there["input"]["kept"], 3);
    assert_eq!(there["input"]["repeated_ids"], Value::Null);
    assert_eq!(there["input"]["sources"][0]["etag"], "\"v1\"");
    let address = serve(votes.into(), true);
    let once = json(&rank(&[&address, "--dedup", "id", "--json"], None));
    assert_eq!(once["input"]["kept"], 2);
}

#[test]
fn addresses_that_lead_nowhere_are_refused_with_exit_code_3() {
    for (address, expected) in [
        ("ftp://host/votes.csv", "known are `https://`"),
        ("hf://datasets/name", "expected `hf://datasets/ORG/NAME"),
        ("s3:///key", "it names no bucket"),
    ] {
        let output = rank(&[address], None);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(expected),
            "{}",
            text(&output.stderr)
        );
    }
}
