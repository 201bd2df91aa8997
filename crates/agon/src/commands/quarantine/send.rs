//! `agon quarantine send`: hands a report in, by a person's command.
//!
//! Before the report is opened at the authority, the case says so on the disk.
//! When the outcome is not known, the case is parked and nothing is sent again until a person has found out.

use agon_domain::{Clock as _, SystemClock};
use agon_providers::{
    ApiKey, Client, ClientOptions,
    screening::{
        ServiceOptions,
        cybertip::{Cybertip, CybertipOptions, Failure, Remedy},
    },
};
use agon_store::{CaseState, Store};
use anyhow::anyhow;
use axum::body::Bytes;
use serde_json::json;

use super::{Opened, open, refused, say};
use crate::{
    app::quarantine::report,
    cli::{GlobalArgs, quarantine::SendArgs},
    config::Config,
    exit_code::CommandError,
};

pub(super) async fn run(
    global: &GlobalArgs,
    config: &Config,
    store: &Store,
    args: &SendArgs,
) -> Result<(), CommandError> {
    let reporter =
        report::reporter(&config.raw.screening.quarantine).map_err(CommandError::usage)?;
    let cybertip = client(config)?;
    let opened = open(store, args.case, &args.keys).await?;
    let report = report::report(&opened.evidence, reporter)?;
    let step = async |from: &[CaseState], to, number: Option<&str>| {
        store
            .advance_case(args.case, from, to, number, &args.by, SystemClock.now())
            .await
            .map_err(refused)
    };
    cybertip
        .status(0)
        .await
        .map_err(|failure| failed(&failure))?;
    step(
        &[CaseState::Sealed, CaseState::ReportPrepared],
        CaseState::ReportSubmitting,
        None,
    )
    .await?;
    let number = match cybertip.submit(&report).await {
        Ok(number) => number,
        Err(failure) => {
            let to = match failure.remedy {
                Remedy::AskPerson => CaseState::ReportParked,
                // It certainly was not opened.
                _ => CaseState::ReportPrepared,
            };
            step(&[CaseState::ReportSubmitting], to, None).await?;
            return Err(failed(&failure));
        }
    };
    match complete(&cybertip, &opened, &number).await {
        Ok(()) => {
            let from = [CaseState::ReportSubmitting];
            step(&from, CaseState::Reported, Some(&number)).await?;
            say(
                global,
                &json!({ "case": args.case.to_string(), "report_id": number }),
                &format!("reported as {number}"),
            )
        }
        Err(failure) => {
            // The report is open there: another one would be a second report.
            let from = [CaseState::ReportSubmitting];
            step(&from, CaseState::ReportParked, Some(&number)).await?;
            Err(failed(&failure).with_hint(format!("report {number} is open at the authority and not complete; finish or retract it there, then note it with `agon quarantine mark`")))
        }
    }
}

/// Attaches the file to an open report, describes it and closes the report.
async fn complete(cybertip: &Cybertip, opened: &Opened, number: &str) -> Result<(), Failure> {
    if let Some((name, bytes)) = opened.attached() {
        let uploaded = cybertip
            .upload(number, name, Bytes::copy_from_slice(bytes))
            .await?;
        if let Ok(details) = report::file_details(&opened.evidence, number, &uploaded.file_id) {
            cybertip.describe(&details, 0).await?;
        }
    }
    cybertip.finish(number, 0).await.map(drop)
}

fn client(config: &Config) -> Result<Cybertip, CommandError> {
    let raw = &config.raw.screening.quarantine;
    let absent = |key: &str| {
        CommandError::usage(anyhow!(
            "`screening.quarantine.{key}` is absent: a report is sent under the arena's own name"
        ))
    };
    let user = raw
        .cybertip_user
        .clone()
        .ok_or_else(|| absent("cybertip_user"))?;
    let password = config
        .screening
        .cybertip_password
        .as_ref()
        .ok_or_else(|| absent("cybertip_password"))?;
    let endpoint = raw
        .cybertip_url
        .clone()
        .unwrap_or_else(|| CybertipOptions::ENDPOINT.to_owned());
    let usage = |error: agon_providers::Error| CommandError::usage(error);
    let client = Client::new(&ClientOptions::default()).map_err(usage)?;
    let options = CybertipOptions {
        service: ServiceOptions::new(endpoint, Some(ApiKey::new(password.expose()))),
        user,
    };
    Cybertip::new(&client, &options).map_err(usage)
}

fn failed(failure: &Failure) -> CommandError {
    let hint = match failure.remedy {
        Remedy::RetryLater => "nothing was reported; run the command again later",
        Remedy::FixCredentials => {
            "nothing was reported; check `cybertip_user` and `cybertip_password`"
        }
        Remedy::Correct => "nothing was reported; the report has to be corrected",
        Remedy::CheckState => "look at the report at the authority before anything else",
        Remedy::AskPerson => {
            "whether it was reported is not known; ask the authority, then note it with `agon quarantine mark`"
        }
    };
    CommandError::from(anyhow!("{failure}")).with_hint(hint)
}
