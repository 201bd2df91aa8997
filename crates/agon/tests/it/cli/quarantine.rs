//! `agon quarantine` as a process: two people open, a person reports, time destroys.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use agon::app::quarantine::{Custodians, Evidence, Found};
use agon_domain::CaseId;
use agon_store::{NewCase, Store};
use jiff::Timestamp;
use serde_json::Value;

use crate::cli::serve::AGON;

struct Sealed {
    folder: tempfile::TempDir,
    keys: [PathBuf; 3],
    case: String,
}

impl Sealed {
    /// A data folder with one case, sealed for the first two of three keys.
    async fn new(retain_until: Timestamp) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = ["ana.key", "bo.key", "cy.key"].map(|name| folder.path().join(name));
        let public = keys.each_ref().map(|key| {
            let output = run(&["quarantine", "key", "-o", key.to_str().unwrap()]);
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        });
        let found = Found {
            at: "2026-11-30T12:00:00Z".to_owned(),
            visit: "abcd".to_owned(),
            address: Some("192.0.2.1".to_owned()),
            battle: None,
            prompt: "what was written",
            services: Vec::new(),
        };
        let packed = Evidence::new(found, Vec::new(), &[1; 16], &[2; 32])
            .pack(&[("upload", b"the upload")])
            .unwrap();
        let sealed = Custodians::new(&public[..2])
            .unwrap()
            .seal(&packed)
            .unwrap();
        let store = Store::open(&folder.path().join("data")).await.unwrap();
        let case = NewCase {
            id: CaseId::from_bytes([0xab; 16]),
            sealed_at: "2026-11-30T12:00:00Z".parse().unwrap(),
            retain_until,
            battle: None,
        };
        store.seal_case(&case, sealed).await.unwrap();
        store.close().await;
        Self {
            folder,
            keys,
            case: case.id.to_string(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let data_dir = self.path("data");
        let mut all = vec![
            "quarantine",
            "--json",
            "--data-dir",
            data_dir.to_str().unwrap(),
        ];
        all.extend_from_slice(arguments);
        run(&all)
    }

    fn open(&self, keys: &[usize], target: &Path) -> Output {
        let mut arguments = vec!["open", self.case.as_str(), "-o", target.to_str().unwrap()];
        for key in keys {
            arguments.extend(["--identity", self.keys[*key].to_str().unwrap()]);
        }
        self.run(&arguments)
    }

    fn shown(&self) -> Value {
        json(&self.run(&["show", &self.case]))
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(AGON)
        .args(arguments)
        .env_remove("AGON_LOG")
        .output()
        .unwrap()
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", told(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn far() -> Timestamp {
    "2100-01-01T00:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn two_custodians_open_a_case_and_nobody_else_does() {
    let sealed = Sealed::new(far()).await;
    let target = sealed.path("opened");
    for keys in [&[0][..], &[0, 0], &[0, 2], &[2, 1], &[0, 1, 2]] {
        let output = sealed.open(keys, &target);
        assert_eq!(output.status.code(), Some(2), "{keys:?} {}", told(&output));
        assert!(!target.exists());
    }
    assert!(sealed.open(&[1, 0], &target).status.success());
    assert_eq!(std::fs::read(target.join("upload")).unwrap(), b"the upload");
    let evidence = std::fs::read_to_string(target.join("evidence.json")).unwrap();
    assert!(evidence.contains("what was written"));
    // Attempts with two keys are on record too, each with both public keys.
    let events = sealed.shown()["events"].as_array().unwrap().clone();
    let opened: Vec<&Value> = events
        .iter()
        .filter(|event| event["what"] == "opened")
        .collect();
    assert_eq!(opened.len(), 4);
    for event in opened {
        assert_eq!(event["who"].as_str().unwrap().matches("age1").count(), 2);
    }
    let listed = json(&sealed.run(&["list"])).to_string();
    assert!(!listed.contains("192.0.2.1") && !listed.contains("written"));
}

#[tokio::test]
async fn a_report_is_prepared_for_a_person_and_never_sent_twice() {
    let sealed = Sealed::new(far()).await;
    let (first, second) = (
        sealed.keys[0].to_str().unwrap(),
        sealed.keys[1].to_str().unwrap(),
    );
    let keys = ["--identity", first, "--identity", second, "--by", "Ana"];
    let target = sealed.path("report");
    let prepare = |config: &Path| {
        let mut arguments = vec![
            "report",
            sealed.case.as_str(),
            "-o",
            target.to_str().unwrap(),
        ];
        arguments.extend(keys);
        arguments.extend(["--config", config.to_str().unwrap()]);
        sealed.run(&arguments)
    };
    let config = sealed.path("agon.toml");
    std::fs::write(&config, "").unwrap();
    let output = prepare(&config);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        told(&output).contains("reporter_first_name"),
        "{}",
        told(&output)
    );
    std::fs::write(&config, "[screening.quarantine]\nreporter_first_name = \"Ana\"\nreporter_last_name = \"Lopez\"\nreporter_email = \"ana@example.org\"\ncybertip_url = \"http://127.0.0.1:1/ispws\"\ncybertip_user = \"arena\"\ncybertip_password = { file = \"password\" }\n").unwrap();
    std::fs::write(sealed.path("password"), "secret").unwrap();
    assert_eq!(json(&prepare(&config))["sent"], false);
    let report = std::fs::read_to_string(target.join("report.xml")).unwrap();
    assert!(report.contains("192.0.2.1") && report.contains("ana@example.org"));
    assert_eq!(sealed.shown()["state"], "report_prepared");
    // A service that cannot be reached is found out before anything is opened there.
    let mut send = vec!["send", sealed.case.as_str()];
    send.extend(keys);
    send.extend(["--config", config.to_str().unwrap()]);
    let output = sealed.run(&send);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(!told(&output).contains("secret"));
    assert_eq!(sealed.shown()["state"], "report_prepared");
    let mark = [
        "mark",
        &sealed.case,
        "reported",
        "--report-id",
        "7",
        "--by",
        "Ana",
    ];
    assert_eq!(json(&sealed.run(&mark))["report_id"], "7");
    let output = sealed.run(&send);
    assert_eq!(output.status.code().map(|code| code > 0), Some(true));
    assert_eq!(sealed.shown()["state"], "reported");
}

#[tokio::test]
async fn a_case_is_destroyed_when_its_time_is_over_and_not_before() {
    let sealed = Sealed::new(far()).await;
    let expire = ["expire", "--by", "Ana"];
    let kept = json(&sealed.run(&expire));
    assert_eq!(kept["destroyed"], serde_json::json!([]));
    let sealed = Sealed::new("2026-11-30T12:00:01Z".parse().unwrap()).await;
    let gone = json(&sealed.run(&expire));
    assert_eq!(gone["destroyed"], serde_json::json!([sealed.case]));
    assert_eq!(sealed.shown()["state"], "destroyed");
    let output = sealed.open(&[0, 1], &sealed.path("opened"));
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    let files = std::fs::read_dir(sealed.path("data/quarantine")).unwrap();
    assert_eq!(files.count(), 0);
}
