//! Rows of a dataset: every text and picture of a row looked at for a release, and the row without what is to be taken out.
//!
//! A row is left out when something of it is blocked or undecided, or when something is found again after it was taken out; what was found is told in any case.
//! Names of models are not looked at: they are the arena's, not its voters'.

mod tally;

use std::{collections::HashMap, fmt, net::IpAddr};

use agon_content::{
    annotate::language::Language,
    image::{ImageLimits, decode_normalised, normalise},
};
use agon_dataset::{ConversationRow, DatasetFinding, Place, RowImage, RowLabels, RowRole};
use agon_domain::{Action, Decision, Finding, FindingKind, Policy, Purpose, Screening, Verdict};
use axum::body::Bytes;

use super::{PictureContent, Screener, redact};
use crate::app::{annotation::published_style, pseudonym};

pub use tally::Tally;

/// How often content is changed and looked at again before its row is left out.
const PASSES_MAX: u32 = 4;

/// Which rows stay although they would be left out, without what was found in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Those that the policy blocks. A picture on a list of known images is never kept.
    pub blocked: bool,
    /// Those of which something required was not looked at.
    pub undecided: bool,
}

/// The screening of rows. Needs a Tokio runtime.
pub struct RowScreening {
    /// Who looks.
    pub screener: Screener,
    /// What stands instead of what is taken out of a text.
    pub replacement: agon_pii::Policy,
    /// What stays.
    pub keep: Keep,
    /// What pictures may cost.
    pub images: ImageLimits,
    /// What ids and voters that are personal data are hashed with.
    pub key: [u8; 32],
}

impl fmt::Debug for RowScreening {
    /// Leaves the key out.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RowScreening")
            .field("screener", &self.screener)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFate {
    /// It is published as it came.
    Kept,
    /// It is published without what was taken out.
    Changed,
    /// It is left out.
    LeftOut,
}

impl RowFate {
    /// The spelling in findings and summaries.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "changed",
            Self::LeftOut => "left_out",
        }
    }
}

/// A row that was looked at.
#[derive(Debug)]
pub struct ScreenedRow {
    /// Where it stands.
    pub place: Place,
    /// What became of it.
    pub fate: RowFate,
    /// The row as it may be published, unless it is left out.
    pub published: Option<(ConversationRow, RowLabels)>,
    /// What was found.
    pub findings: Vec<DatasetFinding>,
    /// What is counted.
    pub tally: Tally,
}

/// What looking at one text or picture came to.
struct Looked<T> {
    /// Each look with its decision; the second and later ones at what was changed.
    passes: Vec<(Screening, Decision)>,
    /// What it is now, if it was changed.
    changed: Option<T>,
    /// Whether it may still hold what was to be taken out.
    is_incomplete: bool,
}

/// Why a row is not as it came.
#[derive(Debug, Default)]
struct Reasons {
    /// Whether a known image was found.
    is_known: bool,
    blocked: Option<FindingKind>,
    undecided: Option<FindingKind>,
    has_unreadable_picture: bool,
    has_missing_picture: bool,
    is_incomplete: bool,
    is_changed: bool,
}

impl Reasons {
    /// The strongest reason to leave the row out, as it is counted.
    fn left_out(&self, keep: Keep) -> Option<String> {
        let blocked = self.blocked.filter(|_| self.is_known || !keep.blocked);
        let undecided = self.undecided.filter(|_| !keep.undecided);
        if let Some(kind) = blocked {
            Some(format!("blocked/{kind}"))
        } else if self.has_unreadable_picture && !keep.undecided {
            Some("undecided/picture_unreadable".to_owned())
        } else if self.has_missing_picture && !keep.undecided {
            Some("undecided/picture_missing".to_owned())
        } else if let Some(kind) = undecided {
            Some(format!("undecided/{kind}"))
        } else {
            self.is_incomplete
                .then(|| "undecided/redaction_incomplete".to_owned())
        }
    }

    const fn verdict(&self) -> Verdict {
        if self.blocked.is_some() {
            Verdict::Block
        } else if self.undecided.is_some()
            || self.has_unreadable_picture
            || self.has_missing_picture
            || self.is_incomplete
        {
            Verdict::Undecided
        } else {
            Verdict::Allow
        }
    }
}

/// Where something stands, for its findings.
#[derive(Clone, Copy)]
struct Spot {
    field: &'static str,
    side: Option<&'static str>,
    turn: Option<u32>,
    role: Option<&'static str>,
    picture: Option<u32>,
}

impl Spot {
    const fn field(field: &'static str) -> Self {
        Self {
            field,
            side: None,
            turn: None,
            role: None,
            picture: None,
        }
    }
}

impl RowScreening {
    fn policy(&self) -> &Policy {
        self.screener.policy(Purpose::Release)
    }

    async fn look(&self, text: &str, language: Option<&str>) -> Screening {
        self.screener
            .screen_text_for(text, language, &[Purpose::Release])
            .await
    }

    /// Looks at a row.
    pub async fn screen(&self, mut row: ConversationRow) -> ScreenedRow {
        let mut state = State {
            policy: self.policy(),
            findings: Vec::new(),
            reasons: Reasons::default(),
            tally: Tally::default(),
        };
        self.screen_columns(&mut row, &mut state).await;
        self.screen_messages(&mut row, &mut state).await;
        self.screen_pictures(&mut row, &mut state).await;
        // A picture that could not be read from the source is one that nobody looked at.
        state.reasons.has_unreadable_picture |= row
            .problems
            .iter()
            .any(|problem| problem.column.contains("image"));
        let State {
            mut findings,
            reasons,
            mut tally,
            ..
        } = state;
        for finding in &mut findings {
            finding.row_id.clone_from(&row.id);
        }
        let left_out = reasons.left_out(self.keep);
        let fate = match (&left_out, reasons.is_changed) {
            (Some(_), _) => RowFate::LeftOut,
            (None, true) => RowFate::Changed,
            (None, false) => RowFate::Kept,
        };
        tally.row(fate, left_out, reasons.verdict());
        let labels = RowLabels {
            judge: row.judge.clone(),
            style: row.conv_metadata.as_ref().and_then(published_style),
            ..RowLabels::default()
        };
        ScreenedRow {
            place: row.place.clone(),
            fate,
            published: (fate != RowFate::LeftOut).then_some((row, labels)),
            findings,
            tally,
        }
    }

    /// The columns with text from outside that are published beside the conversations.
    async fn screen_columns(&self, row: &mut ConversationRow, state: &mut State<'_>) {
        for (name, column) in [("question_id", &mut row.id), ("judge", &mut row.judge)] {
            let Some(value) = column.as_deref() else {
                continue;
            };
            let is_address = value.trim().parse::<IpAddr>().is_ok();
            if self.is_personal(name, value, state).await || is_address {
                let hashed = pseudonym::imported_voter_id(&self.key, "screen", value.trim());
                *column = Some(hashed.to_string());
                state.changed_column(name);
            }
        }
        let is_language = row.language.as_deref().is_none_or(|language| {
            Language::from_name(language).is_some() || Language::from_code(language).is_some()
        });
        if let Some(language) = row.language.as_deref().filter(|_| !is_language)
            && self.is_personal("language", language, state).await
        {
            row.language = None;
            state.changed_column("language");
        }
        for message in row
            .conversations
            .iter_mut()
            .flat_map(|side| &mut side.messages)
        {
            if let RowRole::Other(role) = &message.role
                && self.is_personal("role", role, state).await
            {
                message.role = RowRole::Other("other".to_owned());
                state.changed_column("role");
            }
        }
    }

    /// Whether something that is to be taken out is found in a column; the findings are noted.
    async fn is_personal(&self, name: &'static str, value: &str, state: &mut State<'_>) -> bool {
        let screening = self.look(value, None).await;
        let decision = self.policy().decide(&screening, false);
        state.note(Spot::field(name), 1, &screening, &decision);
        if decision.verdict == Verdict::Undecided {
            state.reasons.undecided = state
                .reasons
                .undecided
                .or(decision.unanswered.first().copied());
        }
        has_taken_out(&screening, self.policy())
    }

    async fn screen_messages(&self, row: &mut ConversationRow, state: &mut State<'_>) {
        let language = row
            .language
            .as_deref()
            .and_then(|language| {
                Language::from_name(language).or_else(|| Language::from_code(language))
            })
            .map(Language::code);
        let mut numbers = agon_pii::Numbers::default();
        // Both sides of a battle have the same prompts.
        let mut seen: HashMap<String, Looked<String>> = HashMap::new();
        let is_battle = row.conversations.len() > 1;
        for (side_idx, conversation) in row.conversations.iter_mut().enumerate() {
            let mut turn = 0;
            let mut is_answered = true;
            for message in &mut conversation.messages {
                if turn == 0 || (is_answered && message.role == RowRole::User) {
                    turn += 1;
                    is_answered = false;
                }
                is_answered |= message.role == RowRole::Assistant;
                let Some(text) = message.text.as_deref().filter(|text| !text.is_empty()) else {
                    continue;
                };
                if !seen.contains_key(text) {
                    let looked = self.look_at_text(text, language, &mut numbers).await;
                    seen.insert(text.to_owned(), looked);
                }
                let Some(looked) = seen.get(text) else {
                    continue;
                };
                let spot = Spot {
                    field: "message",
                    side: is_battle.then_some(if side_idx == 0 { "a" } else { "b" }),
                    turn: Some(turn),
                    role: Some(match message.role {
                        RowRole::User => "user",
                        RowRole::Assistant => "assistant",
                        RowRole::System => "system",
                        RowRole::Other(_) => "other",
                    }),
                    picture: None,
                };
                state.tally.texts.screened += 1;
                state.take(spot, looked);
                if let Some(changed) = &looked.changed {
                    state.tally.texts.changed += 1;
                    message.text = Some(changed.clone());
                }
            }
        }
    }

    async fn look_at_text(
        &self,
        text: &str,
        language: Option<&str>,
        numbers: &mut agon_pii::Numbers,
    ) -> Looked<String> {
        let policy = self.policy();
        let mut looked = Looked {
            passes: Vec::new(),
            changed: None,
            is_incomplete: false,
        };
        loop {
            let now = looked.changed.as_deref().unwrap_or(text);
            let screening = self.look(now, language).await;
            let decision = policy.decide(&screening, false);
            let next = self
                .is_next(&looked.passes, &screening, &decision)
                .then(|| {
                    redact::text_with(now, &screening, policy, |category, value| {
                        self.replacement.replacement(category, value, numbers)
                    })
                });
            looked.is_incomplete = is_unverified(&looked.passes, &screening);
            looked.passes.push((screening, decision));
            match next {
                Some(_) if looked.passes.len() > PASSES_MAX as usize => {
                    looked.is_incomplete = true;
                    return looked;
                }
                Some(next) => looked.changed = Some(next),
                None => return looked,
            }
        }
    }

    /// Whether something has to be taken out before the content may go on. A first look that leaves the row out is the last one.
    fn is_next(
        &self,
        earlier: &[(Screening, Decision)],
        screening: &Screening,
        decision: &Decision,
    ) -> bool {
        let is_wanted = match decision.verdict {
            Verdict::Allow => true,
            Verdict::Block => self.keep.blocked && decision.action < Action::Quarantine,
            Verdict::Undecided => self.keep.undecided,
        };
        (is_wanted || !earlier.is_empty()) && has_taken_out(screening, self.policy())
    }

    async fn screen_pictures(&self, row: &mut ConversationRow, state: &mut State<'_>) {
        for (idx, image) in (0..).zip(&mut row.images) {
            let Some(bytes) = image.bytes.take() else {
                // A name or an address is text from outside.
                *image = RowImage::default();
                state.reasons.has_missing_picture = true;
                state.tally.pictures_missing += 1;
                continue;
            };
            *image = RowImage::default();
            let Some((normalised, looked)) = self.look_at_picture(bytes).await else {
                state.reasons.has_unreadable_picture = true;
                state.tally.pictures_unreadable += 1;
                continue;
            };
            let spot = Spot {
                picture: Some(idx),
                ..Spot::field("picture")
            };
            state.tally.pictures.screened += 1;
            state.tally.pictures.changed += u64::from(looked.changed.is_some());
            state.take(spot, &looked);
            let picture = looked.changed.unwrap_or(normalised);
            let name: String = picture
                .sha256
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            image.path = Some(format!("{name}.{}", picture.media_type.extension()));
            image.bytes = Some(picture.bytes);
        }
    }

    /// The picture as it is published, and what was found; nothing for one that cannot be decoded.
    async fn look_at_picture(
        &self,
        bytes: Bytes,
    ) -> Option<(PictureContent, Looked<PictureContent>)> {
        let policy = self.policy();
        let limits = self.images;
        let normalised = tokio::task::spawn_blocking(move || {
            let image = normalise(&bytes, &limits).ok()?;
            Some(PictureContent::from(&image))
        })
        .await
        .ok()??;
        let mut looked: Looked<PictureContent> = Looked {
            passes: Vec::new(),
            changed: None,
            is_incomplete: false,
        };
        loop {
            let now = looked.changed.as_ref().unwrap_or(&normalised);
            let screening = self
                .screener
                .screen_picture_for(now, &[Purpose::Release])
                .await;
            let decision = policy.decide(&screening, true);
            let is_next = self.is_next(&looked.passes, &screening, &decision);
            looked.is_incomplete = is_unverified(&looked.passes, &screening);
            let next = if is_next {
                let found: Vec<Finding> = redact::taken_out(&screening, policy).cloned().collect();
                let bytes = now.bytes.clone();
                Some(
                    tokio::task::spawn_blocking(move || {
                        let pixels = decode_normalised(&bytes).ok()?;
                        let bytes = redact::picture(&pixels, &found)?;
                        PictureContent::of_normalised(Bytes::from(bytes), None).ok()
                    })
                    .await,
                )
            } else {
                None
            };
            looked.passes.push((screening, decision));
            match next {
                None => return Some((normalised, looked)),
                Some(Ok(Some(picture))) if looked.passes.len() <= PASSES_MAX as usize => {
                    looked.changed = Some(picture);
                }
                Some(_) => {
                    looked.is_incomplete = true;
                    return Some((normalised, looked));
                }
            }
        }
    }
}

/// Whether anything is to be taken out.
fn has_taken_out(screening: &Screening, policy: &Policy) -> bool {
    redact::taken_out(screening, policy).next().is_some()
}

/// Whether a look at changed content does not answer for a kind that was found before: nobody knows then whether it is gone.
fn is_unverified(earlier: &[(Screening, Decision)], screening: &Screening) -> bool {
    earlier
        .iter()
        .flat_map(|(_, decision)| &decision.found)
        .any(|(kind, action)| *action >= Action::Blur && !screening.covers(*kind))
}

/// A row under way.
struct State<'p> {
    policy: &'p Policy,
    findings: Vec<DatasetFinding>,
    reasons: Reasons,
    tally: Tally,
}

impl State<'_> {
    /// Takes over what looking at a text or picture came to.
    fn take<T>(&mut self, spot: Spot, looked: &Looked<T>) {
        for (pass, (screening, decision)) in (1..).zip(&looked.passes) {
            self.note(spot, pass, screening, decision);
        }
        self.reasons.is_changed |= looked.changed.is_some();
        self.reasons.is_incomplete |= looked.is_incomplete;
        let Some((_, decision)) = looked.passes.first() else {
            return;
        };
        match decision.verdict {
            Verdict::Allow => {}
            Verdict::Block => {
                let kind = decision.found.first().map(|(kind, _)| *kind);
                self.reasons.is_known |= decision.action == Action::Quarantine;
                // A known image goes before everything else.
                self.reasons.blocked = match decision.action {
                    Action::Quarantine => kind,
                    _ => self.reasons.blocked.or(kind),
                };
            }
            Verdict::Undecided => {
                let kind = decision.unanswered.first().copied();
                self.reasons.undecided = self.reasons.undecided.or(kind);
            }
        }
    }

    /// Writes the findings of one look down.
    fn note(&mut self, spot: Spot, pass: u32, screening: &Screening, decision: &Decision) {
        self.tally.look(pass, screening, decision, self.policy);
        for finding in &screening.findings {
            self.findings.push(DatasetFinding {
                row_id: None,
                field: spot.field,
                side: spot.side,
                turn: spot.turn,
                role: spot.role,
                picture: spot.picture,
                pass,
                action: self.policy.action(finding.kind, &finding.category),
                verdict: decision.verdict,
                finding: finding.clone(),
            });
        }
    }

    fn changed_column(&mut self, name: &str) {
        self.reasons.is_changed = true;
        tally::count(&mut self.tally.columns_changed, name, 1);
    }
}
