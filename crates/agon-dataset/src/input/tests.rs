//! Compressed inputs and archives, hostile ones among them.

use std::{
    io::{Cursor as Bytes, Write as _},
    path::Path,
};

use arrow_array::{ArrayRef, RecordBatch, StringArray};

use super::{container::Unpacked, *};
use crate::{
    Error, InputReport, ReadOptions, SourceReport, Votes, decode::window::hexadecimal, read_votes,
};

const CSV: &str = "model_a,model_b,winner\nx,y,model_a\ny,z,tie\n";
const JSON_LINES: &str = "{\"model_a\": \"x\", \"model_b\": \"z\", \"winner\": \"model_b\"}\n";

fn read_with(inputs: Vec<Input>, options: &ReadOptions<'_>) -> Result<Votes, Error> {
    read_votes(inputs, options, &mut |_| {})
}

fn stream(bytes: impl Into<Vec<u8>>) -> Vec<Input> {
    vec![Input::Reader {
        name: "votes".to_owned(),
        reader: Box::new(Bytes::new(bytes.into())),
    }]
}

fn file(bytes: impl AsRef<[u8]>) -> (tempfile::TempDir, Vec<Input>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("votes");
    fs_write(&path, bytes);
    (folder, vec![Input::Path(path)])
}

fn fs_write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::write(path, bytes).unwrap();
}

/// Reads bytes as a stream and as a file, which must come to the same.
fn read(bytes: &[u8]) -> Result<InputReport, String> {
    let options = ReadOptions {
        checksums: true,
        ..ReadOptions::default()
    };
    let as_stream = read_with(stream(bytes), &options);
    let (folder, inputs) = file(bytes);
    let as_file = read_with(inputs, &options);
    let place = folder.path().join("votes").display().to_string();
    let plain = |read: Result<Votes, Error>| match read {
        Ok(votes) => {
            let mut report = votes.report;
            for source in &mut report.sources {
                source.path = source.path.replace(&place, "votes");
            }
            for skipped in &mut report.skipped {
                skipped.path = skipped.path.replace(&place, "votes");
                skipped.detail = skipped.detail.replace(&place, "votes");
            }
            Ok(report)
        }
        Err(error) => Err(error.to_string().replace(&place, "votes")),
    };
    let (as_stream, as_file) = (plain(as_stream), plain(as_file));
    assert_eq!(as_stream, as_file);
    as_file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn bzip2_stream(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz_stream(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn parquet() -> Vec<u8> {
    let column = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("model_a", column("x")),
        ("model_b", column("y")),
        ("winner", column("model_b")),
    ])
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        ::parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A file for an archive, which may lie about itself.
#[derive(Clone)]
struct Entry {
    name: Vec<u8>,
    method: u16,
    flags: u16,
    packed: Vec<u8>,
    packed_size: u32,
    size: u32,
    crc32: u32,
    /// Points at the same bytes as the entry before it.
    is_overlapping: bool,
}

const STORE: u16 = 0;
const DEFLATE: u16 = 8;
const ZSTD: u16 = 93;

fn entry(name: &str, method: u16, bytes: &[u8]) -> Entry {
    let packed = match method {
        DEFLATE => {
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        ZSTD => zstd_frame(bytes),
        _ => bytes.to_vec(),
    };
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    Entry {
        name: name.as_bytes().to_vec(),
        method,
        flags: 0,
        packed_size: packed.len() as u32,
        packed,
        size: bytes.len() as u32,
        crc32: crc.sum(),
        is_overlapping: false,
    }
}

/// A zip archive (APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16).
fn zip_of(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    let mut last_start = 0;
    for entry in entries {
        let start = if entry.is_overlapping {
            last_start
        } else {
            bytes.len() as u32
        };
        last_start = start;
        let mut shared = Vec::new();
        for number in [20, entry.flags, entry.method, 0, 0x21] {
            shared.extend(number.to_le_bytes());
        }
        for number in [entry.crc32, entry.packed_size, entry.size] {
            shared.extend(number.to_le_bytes());
        }
        shared.extend((entry.name.len() as u16).to_le_bytes());
        shared.extend(0_u16.to_le_bytes());
        if !entry.is_overlapping {
            bytes.extend(b"PK\x03\x04");
            bytes.extend(&shared);
            bytes.extend(&entry.name);
            bytes.extend(&entry.packed);
        }
        directory.extend(b"PK\x01\x02");
        directory.extend(20_u16.to_le_bytes());
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        // Comment length, disk, attributes: 2 + 2 + 2 + 4 bytes are the ten above.
        directory.extend(&entry.name);
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    let n = entries.len().min(0xffff) as u16;
    bytes.extend(n.to_le_bytes());
    bytes.extend(n.to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn paths(sources: &[SourceReport]) -> Vec<(&str, u64)> {
    sources
        .iter()
        .map(|source| (source.path.as_str(), source.kept))
        .collect()
}

fn sha256(bytes: &[u8]) -> Option<String> {
    Some(hexadecimal(&Sha256::digest(bytes)))
}

#[test]
fn a_compressed_source_reads_as_what_is_in_it() {
    for pack in [gzip, zstd_frame, bzip2_stream, xz_stream] {
        for (inner, format, rows) in [
            (CSV.as_bytes(), Format::BattlesCsv, 2),
            (JSON_LINES.as_bytes(), Format::BattlesJsonLines, 1),
            (&parquet(), Format::BattlesParquet, 1),
            (b"", Format::Empty, 0),
        ] {
            let packed = pack(inner);
            let report = read(&packed).unwrap();
            let source = &report.sources[0];
            assert_eq!((source.format, source.kept), (format, rows));
            assert_eq!(source.sha256, sha256(&packed), "of the file as it lies");
        }
    }
}

#[test]
fn xz_that_would_take_too_much_memory_is_refused() {
    let mut packed = xz_stream(CSV.as_bytes());
    // Behind the head of the stream: the length of the block's head, its flags, the filter, and the size of its window as an exponent.
    let end = 12 + (usize::from(packed[12]) + 1) * 4;
    assert_eq!(packed[14..16], [0x21, 1]);
    packed[16] = 40;
    let mut checksum = flate2::Crc::new();
    checksum.update(&packed[12..end - 4]);
    packed[end - 4..end].copy_from_slice(&checksum.sum().to_le_bytes());
    let error = read(&packed).unwrap_err();
    assert!(error.starts_with("`votes` is not valid xz"), "{error}");
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn several_members_and_frames_are_one_source() {
    let (first, rest) = CSV.split_at(30);
    for pack in [gzip, zstd_frame, bzip2_stream, xz_stream] {
        let packed = [pack(first.as_bytes()), pack(b""), pack(rest.as_bytes())].concat();
        let report = read(&packed).unwrap();
        assert_eq!(report.kept, 2);
        assert_eq!(report.sources[0].sha256, sha256(&packed));
    }
    let skippable = [
        &b"\x50\x2a\x4d\x18\x02\0\0\0xx"[..],
        &zstd_frame(CSV.as_bytes()),
    ]
    .concat();
    assert_eq!(read(&skippable).unwrap().kept, 2);
}

#[test]
fn each_file_of_an_archive_is_a_source() {
    let archive = zip_of(&[
        entry("b.json", DEFLATE, JSON_LINES.as_bytes()),
        entry("README.md", DEFLATE, b"# Votes\nof May\n"),
        entry("a/c.csv", STORE, CSV.as_bytes()),
        entry("a/", STORE, b""),
        entry("a/.hidden.csv", STORE, CSV.as_bytes()),
        entry("__MACOSX/b.json", STORE, b"\0"),
        entry("d.csv", ZSTD, CSV.as_bytes()),
        entry("e.csv.gz", STORE, &gzip(CSV.as_bytes())),
        entry("f", DEFLATE, &parquet()),
        entry("g.zst", DEFLATE, &zstd_frame(&parquet())),
    ]);
    let report = read(&archive).unwrap();
    assert_eq!(
        paths(&report.sources),
        [
            ("votes!a/c.csv", 2),
            ("votes!b.json", 1),
            ("votes!d.csv", 2),
            ("votes!e.csv.gz", 2),
            ("votes!f", 1),
            ("votes!g.zst", 1),
        ]
    );
    for source in &report.sources {
        assert_eq!(source.sha256, sha256(&archive));
    }
    assert_eq!(report.sources[1].member.as_deref(), Some("b.json"));
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].path, "votes!README.md");
}

#[test]
fn a_packed_release_is_read_like_its_folder() {
    for top in ["", "release/"] {
        let archive = zip_of(&[
            entry(&format!("{top}manifest.json"), DEFLATE, b"{\"a\": 1}"),
            entry(&format!("{top}votes.csv"), STORE, CSV.as_bytes()),
            entry(&format!("{top}data/0.parquet"), STORE, &parquet()),
        ]);
        let report = read(&archive).unwrap();
        let path = format!("votes!{top}data/0.parquet");
        assert_eq!(paths(&report.sources), [(path.as_str(), 1)]);
        assert!(report.skipped.is_empty());
    }
}

#[test]
fn an_archive_in_a_folder_is_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let archive = zip_of(&[entry("b.csv", DEFLATE, CSV.as_bytes())]);
    fs_write(&folder.path().join("a.zip"), archive);
    fs_write(&folder.path().join("c.csv.gz"), gzip(CSV.as_bytes()));
    fs_write(&folder.path().join("d.zip"), zip_of(&[]));
    let inputs = vec![Input::Path(folder.path().to_owned())];
    let report = read_with(inputs, &ReadOptions::default()).unwrap().report;
    assert_eq!((report.sources.len(), report.kept), (2, 4));
    assert_eq!(report.skipped.len(), 1);
    let detail = &report.skipped[0].detail;
    assert!(detail.contains("a zip archive without files"), "{detail}");
}

#[test]
fn progress_is_told_in_bytes_of_the_packed_file() {
    let rows = "x,y,model_a\nx,z,model_b\n".repeat(40_000);
    let packed = gzip(format!("model_a,model_b,winner\n{rows}").as_bytes());
    let (_folder, inputs) = file(&packed);
    let mut last = (0, None);
    read_votes(inputs, &ReadOptions::default(), &mut |step| {
        assert!(step.bytes_read >= last.0);
        last = (step.bytes_read, step.bytes_total);
    })
    .unwrap();
    let size = packed.len() as u64;
    assert_eq!(last, (size, Some(size)));
}

#[test]
fn whatever_is_cut_short_is_refused() {
    let packed = [
        gzip(CSV.as_bytes()),
        zstd_frame(CSV.as_bytes()),
        bzip2_stream(CSV.as_bytes()),
        xz_stream(CSV.as_bytes()),
        zip_of(&[entry("a.csv", DEFLATE, CSV.as_bytes())]),
        gzip(&parquet()),
    ];
    for packed in packed {
        // Six bytes tell xz.
        for length in 6..packed.len() {
            let error = read(&packed[..length]).unwrap_err();
            assert!(error.contains("is not valid"), "{length}: {error}");
        }
    }
}

#[test]
fn whatever_is_damaged_is_refused_or_read_as_it_was() {
    let whole = zip_of(&[
        entry("a.csv", DEFLATE, CSV.as_bytes()),
        entry("b.csv", ZSTD, CSV.as_bytes()),
    ]);
    let packed = [
        gzip(CSV.as_bytes()),
        bzip2_stream(CSV.as_bytes()),
        xz_stream(CSV.as_bytes()),
        whole,
    ];
    for packed in packed {
        for position in 0..packed.len() {
            for flip in [1, 0xff] {
                let mut damaged = packed.clone();
                damaged[position] ^= flip;
                // Nothing more than an end without panic can be asked: some bytes are names, times and the like.
                let _ = read_with(stream(damaged), &ReadOptions::default());
            }
        }
    }
}

#[test]
fn a_wrong_checksum_is_seen() {
    let mut packed = gzip(CSV.as_bytes());
    let position = packed.len() - 8;
    packed[position] ^= 1;
    let error = read(&packed).unwrap_err();
    assert!(error.starts_with("`votes` is not valid gzip"), "{error}");

    for method in [STORE, DEFLATE, ZSTD] {
        let mut lying = entry("a.csv", method, CSV.as_bytes());
        lying.crc32 ^= 1;
        assert_eq!(
            read(&zip_of(&[lying])).unwrap_err(),
            "`votes!a.csv` is not valid zip: its checksum is wrong"
        );
    }
}

#[test]
fn an_archive_that_lies_about_sizes_is_refused() {
    for method in [STORE, DEFLATE, ZSTD] {
        for by in [-1_i32, 1, 1_000_000] {
            let mut lying = entry("a.csv", method, CSV.as_bytes());
            lying.size = lying.size.wrapping_add_signed(by);
            let error = read(&zip_of(&[lying])).unwrap_err();
            let than = if by < 0 { "more" } else { "fewer" };
            assert!(
                error.starts_with(&format!(
                    "`votes!a.csv` is not valid zip: it has {than} bytes"
                )),
                "{error}"
            );
        }
    }
    let mut lying = entry("a.csv", DEFLATE, CSV.as_bytes());
    lying.packed_size = 0x7fff_ffff;
    let error = read(&zip_of(&[lying])).unwrap_err();
    assert!(error.starts_with("`votes` is not valid zip"), "{error}");
}

#[test]
fn files_that_share_their_bytes_are_refused() {
    let mut entries = vec![entry("0.csv", DEFLATE, CSV.repeat(1_000).as_bytes())];
    for i in 1..50 {
        let mut other = entries[0].clone();
        other.name = format!("{i}.csv").into_bytes();
        other.is_overlapping = true;
        entries.push(other);
    }
    entries[0].packed.extend([0; 100]);
    let error = read(&zip_of(&entries)).unwrap_err();
    assert_eq!(
        error,
        "`votes` is not valid zip: its files claim more bytes than it has"
    );
}

#[test]
fn encrypted_and_unknown_packing_is_refused_in_words() {
    let mut encrypted = entry("a.csv", DEFLATE, CSV.as_bytes());
    encrypted.flags = 1;
    let error = read(&zip_of(&[encrypted])).unwrap_err();
    assert!(
        error.starts_with("`votes!a.csv` is encrypted in its zip archive"),
        "{error}"
    );
    let mut unknown = entry("a.csv", STORE, CSV.as_bytes());
    unknown.method = 14;
    let error = read(&zip_of(&[unknown])).unwrap_err();
    assert!(
        error.starts_with("`votes!a.csv` is packed in a way that is not known here"),
        "{error}"
    );
}

#[test]
fn containers_in_containers_end() {
    let twice = gzip(&gzip(CSV.as_bytes()));
    assert_eq!(read(&twice).unwrap().kept, 2);
    let error = read(&gzip(&twice)).unwrap_err();
    assert!(
        error.starts_with("`votes` is compressed more than twice"),
        "{error}"
    );
    let zip = zip_of(&[entry("a.csv", STORE, CSV.as_bytes())]);
    for nested in [
        gzip(&zip),
        zip_of(&[entry("b.zip", DEFLATE, &zip)]),
        zip_of(&[entry("b.zip", STORE, &zip)]),
    ] {
        let error = read(&nested).unwrap_err();
        assert!(
            error.contains("is a zip archive inside of another container"),
            "{error}"
        );
    }
    let error = read(&zip_of(&[entry("a", STORE, &gzip(&gzip(CSV.as_bytes())))])).unwrap_err();
    assert!(error.contains("compressed more than twice"), "{error}");
    // A tar archive has its mark behind the first header's name and numbers.
    let mut tar = vec![0; 1024];
    tar[..5].copy_from_slice(b"a.csv");
    tar[257..262].copy_from_slice(b"ustar");
    let error = read(&gzip(&tar)).unwrap_err();
    assert!(error.starts_with("`votes` is a tar archive"), "{error}");
}

#[test]
fn names_that_lead_elsewhere_are_only_shown() {
    let archive = zip_of(&[
        entry("../../etc/a.csv", STORE, CSV.as_bytes()),
        entry("/tmp/b.csv", STORE, CSV.as_bytes()),
        entry("C:\\c.csv", STORE, CSV.as_bytes()),
        entry("\u{1b}[2Jd.csv", STORE, CSV.as_bytes()),
    ]);
    let report = read(&archive).unwrap();
    assert_eq!(
        paths(&report.sources),
        [
            ("votes!\u{fffd}[2Jd.csv", 2),
            ("votes!../../etc/a.csv", 2),
            ("votes!/tmp/b.csv", 2),
            ("votes!C:\\c.csv", 2),
        ]
    );
}

#[test]
fn an_archive_of_too_many_files_or_of_two_with_one_name_is_refused() {
    let entries: Vec<Entry> = (0..65_000)
        .map(|i| entry(&i.to_string(), STORE, b""))
        .collect();
    let error = read_with(stream(zip_of(&entries)), &ReadOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("`votes` is not read: it holds 65000 files, more than 10000"),
        "{error}"
    );
    let twice = [entry("a.csv", STORE, b"x"), entry("a.csv", STORE, b"y")];
    assert_eq!(
        read(&zip_of(&twice)).unwrap_err(),
        "`votes` is not valid zip: two files in it have the same name"
    );
    assert!(read(&zip_of(&[])).unwrap_err().contains("without files"));
}

#[test]
fn what_unpacks_to_more_than_is_taken_is_refused() {
    let options = ReadOptions {
        unpack: UnpackLimits {
            bytes_max: 1_000_000,
            ..UnpackLimits::default()
        },
        ..ReadOptions::default()
    };
    let long = format!("model_a,model_b,winner\n{}", "x,y,tie\n".repeat(200_000));
    let mut parquet = b"PAR1".to_vec();
    parquet.resize(2_000_000, 0);
    for inner in [long.as_bytes(), &parquet] {
        for packed in [
            gzip(inner),
            zstd_frame(inner),
            bzip2_stream(inner),
            zip_of(&[entry("a", DEFLATE, inner)]),
            zip_of(&[entry("a", ZSTD, inner)]),
        ] {
            let error = read_with(stream(packed), &options).unwrap_err();
            assert!(matches!(error, Error::UnpackLimit { .. }), "{error:?}");
            assert!(
                error
                    .to_string()
                    .contains("unpacks to more than 1000000 bytes"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_bomb_is_stopped_by_its_ratio() {
    let outer = Outer::new(None, Checksum::Unwanted);
    let mut packed = Metered::new("votes", Bytes::new(vec![0; 1_000_000]), &outer);
    io::copy(&mut packed, &mut io::sink()).unwrap();
    let limits = UnpackLimits::default();
    let mut bomb = Unpacked::new("votes", "gzip", io::repeat(b'x'), limits, &outer);
    let mut buffer = vec![0; 1 << 20];
    let mut n_read = 0_u64;
    let error = loop {
        match bomb.read(&mut buffer) {
            Ok(n) => n_read += n as u64,
            Err(error) => break error.downcast::<Error>().unwrap(),
        }
    };
    assert!((RATIO_FREE_BYTES - (1 << 20)..=RATIO_FREE_BYTES).contains(&n_read));
    assert!(
        error
            .to_string()
            .contains("unpacks to more than 200 times its size"),
        "{error}"
    );
}

#[test]
fn a_real_bomb_of_text_is_stopped_before_it_is_unpacked() {
    // Half a gigabyte of blank rows behind a header, from a few kilobytes.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(b"model_a,model_b,winner\n").unwrap();
    let mut blank = vec![b' '; 1 << 20];
    blank.push(b'\n');
    for _ in 0..512 {
        encoder.write_all(&blank).unwrap();
    }
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < 100_000);
    let error = read_with(stream(packed), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::UnpackLimit { .. }), "{error:?}");
}

/// An object whose reading fails from some byte on.
struct Failing(Vec<u8>, u64);

impl RandomAccess for Failing {
    fn name(&self) -> &str {
        "votes"
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.1 {
            return Err(io::Error::other("the network is down"));
        }
        let bytes = &self.0[offset as usize..self.1 as usize];
        let n = bytes.len().min(buffer.len()).min(100);
        buffer[..n].copy_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn etag(&self) -> Option<&str> {
        Some("\"v1\"")
    }

    fn is_local(&self) -> bool {
        false
    }
}

#[test]
fn a_failure_to_read_is_not_called_damage() {
    let mut noise = vec![0; 40_000];
    let mut state = 1_u32;
    for byte in &mut noise {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = b'a' + (state >> 24) as u8 % 26;
    }
    let text = [CSV.as_bytes(), &noise].concat();
    let parquet = parquet();
    for (bytes, from) in [
        (text.clone(), 20_000),
        (gzip(&text), 20_000),
        (zstd_frame(&text), 20_000),
        (parquet.clone(), parquet.len() as u64 - 4),
        (zip_of(&[entry("a", DEFLATE, &text)]), 20_000),
    ] {
        let object = Arc::new(Failing(bytes, from));
        let inputs = vec![Input::Object {
            object,
            is_incidental: false,
        }];
        match read_with(inputs, &ReadOptions::default()).unwrap_err() {
            Error::Read { source, .. } => {
                assert!(
                    source.to_string().contains("the network is down"),
                    "{source}"
                );
            }
            error => panic!("{error:?}"),
        }
    }
}

#[test]
fn of_a_remote_table_the_version_is_noted_and_a_checksum_only_when_asked_for() {
    for remote_checksums in [false, true] {
        let bytes = parquet();
        let n = bytes.len() as u64;
        let object = Arc::new(Failing(bytes.clone(), n));
        let inputs = vec![Input::Object {
            object,
            is_incidental: false,
        }];
        let options = ReadOptions {
            checksums: true,
            remote_checksums,
            ..ReadOptions::default()
        };
        let report = read_with(inputs, &options).unwrap().report;
        let source = &report.sources[0];
        assert_eq!(source.etag.as_deref(), Some("\"v1\""));
        let expected = sha256(&bytes).filter(|_| remote_checksums);
        assert_eq!(source.sha256, expected);
    }
}
