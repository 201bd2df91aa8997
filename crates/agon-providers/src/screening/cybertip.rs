//! The CyberTipline of NCMEC: reports of apparent abuse material, in XML, step by step.
//!
//! A report is opened, files are attached and described, and then it is closed.
//! Opening is never repeated by itself: when its outcome is not known, a second call could make a second report, so it is left to a person ([`Remedy::AskPerson`]).
//!
//! Nothing here decides to report: a person does, or a connector that an operator configured for it.

mod xml;

use std::net::IpAddr;

use agon_domain::DetectorFailureKind;
use bytes::Bytes;
use jiff::Timestamp;
use md5::{Digest as _, Md5};
use reqwest::{RequestBuilder, header, multipart};

use super::{
    ServiceOptions,
    exchange::{Caller, Credential, Reply, Trouble},
};
use crate::{Client, Error};

/// How the CyberTipline is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct CybertipOptions {
    /// Endpoint, password and limits; see [`Self::ENDPOINT`] and [`Self::REHEARSAL_ENDPOINT`].
    pub service: ServiceOptions,
    /// The user name.
    pub user: String,
}

impl CybertipOptions {
    /// Where reports are real.
    pub const ENDPOINT: &'static str = "https://report.cybertip.org/ispws";
    /// Where reports are rehearsed.
    pub const REHEARSAL_ENDPOINT: &'static str = "https://exttest.cybertip.org/ispws";
}

/// A step of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `GET /status`: whether the service is up and takes the credentials.
    Status,
    /// `POST /submit`: opens a report.
    Submit,
    /// `POST /upload`: attaches a file.
    Upload,
    /// `POST /fileinfo`: describes a file.
    FileInfo,
    /// `POST /finish`: closes the report.
    Finish,
    /// `POST /retract`: takes an open report back.
    Retract,
}

impl Step {
    /// The last part of its address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Submit => "submit",
            Self::Upload => "upload",
            Self::FileInfo => "fileinfo",
            Self::Finish => "finish",
            Self::Retract => "retract",
        }
    }
}

/// What has to be done after a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// The same step again, later: the service certainly did nothing, or doing it twice does no harm.
    RetryLater,
    /// Nothing more is sent until the credentials are right; an alarm for the operator.
    FixCredentials,
    /// The request is wrong and stays wrong: a dead letter for a person.
    Correct,
    /// The report is in another state than this step needs.
    CheckState,
    /// Whether the service did it is not known, and doing it twice does harm: a person looks.
    AskPerson,
}

impl Remedy {
    /// The spelling in logs and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetryLater => "retry_later",
            Self::FixCredentials => "fix_credentials",
            Self::Correct => "correct",
            Self::CheckState => "check_state",
            Self::AskPerson => "ask_person",
        }
    }
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the step `{}` failed: {detail}", step.as_str())]
pub struct Failure {
    /// Which step.
    pub step: Step,
    /// What to do about it.
    pub remedy: Remedy,
    /// The service's code, when it gave one.
    pub code: Option<u32>,
    /// What happened, without content and credentials.
    pub detail: String,
}

/// A note about a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Annotation {
    /// Made by a generative model.
    GenerativeAi,
    /// Sexual extortion.
    Sextortion,
    /// Somebody asks for such material.
    CsamSolicitation,
    /// Between minors.
    MinorToMinorInteraction,
    /// Sent in bulk.
    Spam,
}

impl Annotation {
    const fn element(self) -> &'static str {
        match self {
            Self::GenerativeAi => "generativeAi",
            Self::Sextortion => "sextortion",
            Self::CsamSolicitation => "csamSolicitation",
            Self::MinorToMinorInteraction => "minorToMinorInteraction",
            Self::Spam => "spam",
        }
    }
}

/// The industry's classes of such pictures: age (A before puberty, B after) and act (1 sexual act, 2 lascivious display).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the classes are named in the line above")]
pub enum IndustryClassification {
    A1,
    A2,
    B1,
    B2,
}

impl IndustryClassification {
    const fn as_str(self) -> &'static str {
        match self {
            Self::A1 => "A1",
            Self::A2 => "A2",
            Self::B1 => "B1",
            Self::B2 => "B2",
        }
    }
}

/// Who reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reporter {
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Where the authority writes to.
    pub email: String,
}

/// A network address at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpCapture {
    /// The address.
    pub address: IpAddr,
    /// When it was seen.
    pub at: Timestamp,
}

/// A report to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When it happened.
    pub incident_at: Timestamp,
    /// Why it cannot wait, when it cannot.
    pub escalation: Option<String>,
    /// Notes.
    pub annotations: Vec<Annotation>,
    /// The page where it happened.
    pub url: Option<String>,
    /// Who reports.
    pub reporter: Reporter,
    /// How this arena calls the person reported, such as a pseudonym.
    pub reported_identifier: Option<String>,
    /// Addresses of the person reported.
    pub ip_captures: Vec<IpCapture>,
    /// Anything else that helps.
    pub additional_info: Option<String>,
}

impl Report {
    /// The document that opens it, as [`Cybertip::submit`] sends it.
    ///
    /// # Errors
    ///
    /// A failure for a text that XML cannot hold.
    pub fn document(&self) -> Result<String, Failure> {
        xml::report(self).map_err(|detail| wrong(Step::Submit, detail))
    }
}

/// What is said of an attached file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDetails {
    /// The report.
    pub report_id: String,
    /// The file, as [`Cybertip::upload`] named it.
    pub file_id: String,
    /// Its name when it was uploaded to the arena.
    pub original_name: Option<String>,
    /// Whether a person here has looked at it.
    pub is_viewed: bool,
    /// Whether a person here has looked at its metadata.
    pub is_exif_viewed: bool,
    /// Whether it was to be seen publicly.
    pub is_publicly_available: bool,
    /// Its class, when it is known.
    pub classification: Option<IndustryClassification>,
    /// Hashes of the original file, each with the name of its kind, such as `MD5`.
    pub original_hashes: Vec<(String, String)>,
    /// From where it came.
    pub ip_capture: Option<IpCapture>,
    /// Anything else that helps.
    pub additional_info: Option<String>,
}

impl FileDetails {
    /// The document that describes it, as [`Cybertip::describe`] sends it.
    ///
    /// # Errors
    ///
    /// A failure for a text that XML cannot hold.
    pub fn document(&self) -> Result<String, Failure> {
        xml::file_details(self).map_err(|detail| wrong(Step::FileInfo, detail))
    }
}

/// An attached file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// The service's name for it.
    pub file_id: String,
    /// Whether it had to be sent twice; the report may then hold it twice.
    pub is_second_attempt: bool,
}

/// The CyberTipline. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Cybertip {
    caller: Caller,
}

impl Cybertip {
    /// Checks the options; nothing is sent.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Configuration`] when the address, user or password cannot be used.
    pub fn new(client: &Client, options: &CybertipOptions) -> Result<Self, Error> {
        Ok(Self {
            caller: Caller::new(client, &options.service, Credential::Basic(&options.user))?,
        })
    }

    /// Whether the service is up and takes the credentials. Repeated freely.
    ///
    /// # Errors
    ///
    /// A [`Failure`], here and in all steps, whose [`Remedy`] says what to do.
    pub async fn status(&self, seed: u64) -> Result<(), Failure> {
        let url = self.caller.url("status", &[]);
        self.repeated(Step::Status, || self.caller.get(url.clone()), seed)
            .await
            .map(drop)
    }

    /// Opens a report and returns its id. Sent exactly once, whatever happens.
    ///
    /// # Errors
    ///
    /// [`Remedy::AskPerson`] when it is not known whether the report was opened.
    pub async fn submit(&self, report: &Report) -> Result<String, Failure> {
        let body = xml::report(report).map_err(|detail| wrong(Step::Submit, detail))?;
        let answer = self
            .once(Step::Submit, self.post_xml(Step::Submit, body))
            .await?;
        answer
            .report_id
            .ok_or_else(|| unknown_outcome("the answer names no report"))
    }

    /// Attaches a file. Sent a second time when the first broke off or its MD5 came back wrong.
    ///
    /// # Errors
    ///
    /// [`Remedy::AskPerson`] when the service holds something else than what was sent.
    pub async fn upload(
        &self,
        report_id: &str,
        file_name: &str,
        bytes: Bytes,
    ) -> Result<Uploaded, Failure> {
        let expected = hexadecimal(&Md5::digest(&bytes));
        let url = self.caller.url(Step::Upload.as_str(), &[]);
        let mut is_second_attempt = false;
        loop {
            let length = bytes.len() as u64;
            let part =
                multipart::Part::stream_with_length(reqwest::Body::from(bytes.clone()), length)
                    .file_name(file_name.to_owned());
            let form = multipart::Form::new()
                .text("id", report_id.to_owned())
                .part("file", part);
            let request = self.caller.post(url.clone()).multipart(form);
            let failure = match self.once(Step::Upload, request).await {
                Ok(answer) => match (answer.file_id, answer.hash) {
                    (Some(file_id), Some(hash)) if hash.eq_ignore_ascii_case(&expected) => {
                        return Ok(Uploaded {
                            file_id,
                            is_second_attempt,
                        });
                    }
                    _ => Failure {
                        step: Step::Upload,
                        remedy: Remedy::AskPerson,
                        code: Some(0),
                        detail: "the MD5 in the answer is not that of the file".to_owned(),
                    },
                },
                Err(failure) => failure,
            };
            let may_repeat = matches!(failure.remedy, Remedy::RetryLater | Remedy::AskPerson);
            if is_second_attempt || !may_repeat {
                return Err(failure);
            }
            is_second_attempt = true;
        }
    }

    /// Describes a file. Repeated safely.
    ///
    /// # Errors
    ///
    /// As for all steps.
    pub async fn describe(&self, details: &FileDetails, seed: u64) -> Result<(), Failure> {
        let body = xml::file_details(details).map_err(|detail| wrong(Step::FileInfo, detail))?;
        self.repeated(
            Step::FileInfo,
            || self.post_xml(Step::FileInfo, body.clone()),
            seed,
        )
        .await
        .map(drop)
    }

    /// Closes a report and returns the ids of its files. Repeated safely.
    ///
    /// # Errors
    ///
    /// As for all steps.
    pub async fn finish(&self, report_id: &str, seed: u64) -> Result<Vec<String>, Failure> {
        self.repeated(Step::Finish, || self.post_id(Step::Finish, report_id), seed)
            .await
            .map(|answer| answer.files)
    }

    /// Takes an open report back. Sent once: a person decides on it.
    ///
    /// # Errors
    ///
    /// As for all steps.
    pub async fn retract(&self, report_id: &str) -> Result<(), Failure> {
        self.once(Step::Retract, self.post_id(Step::Retract, report_id))
            .await
            .map(drop)
    }

    fn post_xml(&self, step: Step, body: String) -> RequestBuilder {
        self.caller
            .post(self.caller.url(step.as_str(), &[]))
            .header(header::CONTENT_TYPE, "text/xml; charset=utf-8")
            .body(body)
    }

    fn post_id(&self, step: Step, report_id: &str) -> RequestBuilder {
        let form = multipart::Form::new().text("id", report_id.to_owned());
        self.caller
            .post(self.caller.url(step.as_str(), &[]))
            .multipart(form)
    }

    /// Sends a step once.
    async fn once(&self, step: Step, request: RequestBuilder) -> Result<xml::Answer, Failure> {
        match self.caller.once(request).await {
            Ok(reply) => read(step, &reply),
            Err(trouble) => Err(not_answered(step, &trouble)),
        }
    }

    /// Sends a step that does no harm twice.
    async fn repeated(
        &self,
        step: Step,
        request: impl Fn() -> RequestBuilder,
        seed: u64,
    ) -> Result<xml::Answer, Failure> {
        let read = |reply: Reply| match read(step, &reply) {
            Err(failure) if matches!(failure.remedy, Remedy::RetryLater | Remedy::AskPerson) => {
                let mut trouble = reply.refusal().passing();
                trouble.detail = failure.detail;
                Err(trouble)
            }
            answer => Ok(answer),
        };
        match self.caller.ask_for_reply(request, read, seed).await {
            Ok(answer) => answer,
            Err(trouble) => Err(not_answered(step, &trouble)),
        }
    }
}

/// What the reply to a step says.
fn read(step: Step, reply: &Reply) -> Result<xml::Answer, Failure> {
    let fail = |remedy, code, detail: String| {
        Err(Failure {
            step,
            remedy,
            code,
            detail,
        })
    };
    // Its body is empty.
    if matches!(reply.status, 401 | 403) {
        let detail = format!("the service answered with status `{}`", reply.status);
        return fail(Remedy::FixCredentials, None, detail);
    }
    let answer = match xml::answer(&reply.body) {
        Ok(answer) => answer,
        Err(problem) if (400..500).contains(&reply.status) && reply.status != 408 => {
            // The service refused it, in whatever words.
            let remedy = if reply.status == 429 {
                Remedy::RetryLater
            } else {
                Remedy::Correct
            };
            let detail = format!("status `{}`, and the answer {problem}", reply.status);
            return fail(remedy, None, detail);
        }
        Err(problem) => {
            let detail = format!("status `{}`, and the answer {problem}", reply.status);
            return fail(when_unknown(step), None, detail);
        }
    };
    let code = answer.code;
    let is_success = (200..300).contains(&reply.status);
    let remedy = match code {
        0 if is_success => return Ok(answer),
        1000..2000 => Remedy::RetryLater,
        2000..4000 => Remedy::FixCredentials,
        4000..5000 => Remedy::Correct,
        5000..6000 => Remedy::CheckState,
        _ => when_unknown(step),
    };
    fail(
        remedy,
        Some(code),
        format!("the service answered with code `{code}`"),
    )
}

/// What to do when it is not known whether a step was done.
const fn when_unknown(step: Step) -> Remedy {
    match step {
        Step::Submit | Step::Retract => Remedy::AskPerson,
        Step::Status | Step::Upload | Step::FileInfo | Step::Finish => Remedy::RetryLater,
    }
}

/// The failure of a step that had no reply.
fn not_answered(step: Step, trouble: &Trouble) -> Failure {
    let remedy = if trouble.kind == DetectorFailureKind::BadCredentials {
        Remedy::FixCredentials
    } else if trouble.is_refusal {
        Remedy::RetryLater
    } else {
        when_unknown(step)
    };
    Failure {
        step,
        remedy,
        code: None,
        detail: trouble.detail.clone(),
    }
}

fn unknown_outcome(detail: &str) -> Failure {
    Failure {
        step: Step::Submit,
        remedy: Remedy::AskPerson,
        code: Some(0),
        detail: detail.to_owned(),
    }
}

fn wrong(step: Step, detail: String) -> Failure {
    Failure {
        step,
        remedy: Remedy::Correct,
        code: None,
        detail,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
