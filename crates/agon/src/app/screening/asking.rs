//! One screening: who is asked for which purposes, in which order.

use std::sync::Arc;

use agon_content::annotate::language::{Language, detect_language};
use agon_domain::{
    Action, DetectorFailure, DetectorFailureKind, DetectorIdentity, FindingKind, Purpose, Screening,
};
use agon_store::ContentKey;
use futures_util::future::join_all;

use super::{Answer, PictureContent, Screener, ScreeningService, Standing, checked, text_sha256};

/// One screening for some purposes.
pub(super) struct Asking<'a> {
    pub(super) screener: &'a Screener,
    pub(super) purposes: &'a [Purpose],
}

impl Asking<'_> {
    /// Whether anybody wants to know of this kind.
    pub(super) fn wants(&self, kind: FindingKind) -> bool {
        self.purposes
            .iter()
            .any(|purpose| self.screener.policy(*purpose).strongest(kind) > Action::Off)
    }

    /// Whether silence about this kind leaves content undecided for some purpose.
    pub(super) fn needs(&self, kind: FindingKind) -> bool {
        self.purposes.iter().any(|purpose| {
            self.screener
                .policy(*purpose)
                .strongest(kind)
                .needs_an_answer()
        })
    }

    fn wants_any(&self, kinds: &[FindingKind]) -> bool {
        kinds.iter().any(|kind| self.wants(*kind))
    }

    /// The lists here, then hash services. Known is answered for only when all of them answered.
    pub(super) async fn known_image(&self, picture: &PictureContent) -> Screening {
        let mut screening = Screening::default();
        if !self.wants(FindingKind::KnownImage) {
            return screening;
        }
        if let Some(lists) = &self.screener.inner.detectors.known_images {
            let answer = lists.answer(
                &picture.fingerprints,
                self.screener.inner.clock.now().as_second(),
                self.screener.inner.allows_structureless,
            );
            let is_known = answer.as_ref().is_ok_and(|found| !found.is_empty());
            screening.add(lists.identity(), &[FindingKind::KnownImage], answer);
            if is_known {
                return screening;
            }
        }
        screening.merge(self.picture_services(picture, true).await);
        if !screening.failures.is_empty() {
            for (_, kinds) in &mut screening.answered {
                kinds.retain(|kind| *kind != FindingKind::KnownImage);
            }
        }
        screening
    }

    pub(super) async fn local_pictures(&self, picture: &PictureContent) -> Screening {
        let wanted: Vec<_> = self
            .screener
            .inner
            .detectors
            .pictures
            .iter()
            .filter(|detector| self.wants_any(detector.screens_for()))
            .collect();
        let mut screening = Screening::default();
        let mut asked = Vec::new();
        for detector in wanted {
            match self
                .screener
                .remembered(ContentKey::picture(picture.sha256), detector.identity())
                .await
            {
                Some(findings) => {
                    screening.add(detector.identity(), detector.screens_for(), Ok(findings));
                }
                None => asked.push(detector),
            }
        }
        if asked.is_empty() {
            return screening;
        }
        let bytes = picture.bytes.clone();
        let pixels = self
            .screener
            .in_pool(&self.screener.inner.pictures_pool, move || {
                agon_content::image::decode_normalised(&bytes)
                    .map(Arc::new)
                    .map_err(|error| (DetectorFailureKind::Internal, error.to_string()))
            })
            .await;
        let answers = join_all(asked.iter().map(|detector| async {
            let answer = match &pixels {
                Ok(pixels) => self.screener.ask_local_picture(detector, pixels).await,
                Err(failure) => Err(failure.clone()),
            };
            checked(detector.identity(), detector.screens_for(), answer)
        }))
        .await;
        for (detector, answer) in asked.into_iter().zip(answers) {
            self.screener
                .remember(
                    ContentKey::picture(picture.sha256),
                    detector.identity(),
                    &answer,
                )
                .await;
            screening.add(detector.identity(), detector.screens_for(), answer);
        }
        screening
    }

    /// Asks the services that look at pictures: those that know hashes (`known` is true), or the others.
    pub(super) async fn picture_services(
        &self,
        picture: &PictureContent,
        known: bool,
    ) -> Screening {
        let services = self
            .screener
            .inner
            .detectors
            .services
            .iter()
            .filter(|service| {
                let kinds = service.picture_kinds();
                kinds.contains(&FindingKind::KnownImage) == known && self.wants_any(kinds)
            });
        let answers = services.map(|service| async move {
            let content = ContentKey::picture(picture.sha256);
            let kinds = service.picture_kinds();
            let answer = self
                .screener
                .ask_service(content, service, kinds, service.screen_picture(picture))
                .await;
            (service, kinds, answer)
        });
        gathered(join_all(answers).await)
    }

    pub(super) async fn local_texts(&self, text: &str, language: Option<&str>) -> Screening {
        let wanted = self
            .screener
            .inner
            .detectors
            .texts
            .iter()
            .filter(|detector| self.wants_any(detector.screens_for()));
        let shared: Arc<str> = Arc::from(text);
        let answers = join_all(wanted.map(|detector| {
            let (asked, text) = (Arc::clone(detector), Arc::clone(&shared));
            let language = language.map(str::to_owned);
            async move {
                // Not remembered: reading a text again is quicker than asking the store.
                let answer = self
                    .screener
                    .in_pool(&self.screener.inner.texts_pool, move || {
                        asked
                            .find(&text, language.as_deref())
                            .map_err(|failure| (failure.kind, failure.detail))
                    })
                    .await;
                let answer = checked(detector.identity(), detector.screens_for(), answer);
                (detector, answer)
            }
        }))
        .await;
        let mut screening = Screening::default();
        for (detector, answer) in answers {
            screening.add(detector.identity(), detector.screens_for(), answer);
        }
        screening
    }

    pub(super) async fn text_services(&self, text: &str, language: Option<&str>) -> Screening {
        let services = self
            .screener
            .inner
            .detectors
            .services
            .iter()
            .filter(|service| self.wants_any(service.text_kinds()));
        let sha256 = text_sha256(text);
        // Some services refuse a text whose language they are not told.
        let detected = language
            .is_none()
            .then(|| detect_language(text).main())
            .flatten();
        let language = language.or_else(|| detected.map(Language::code));
        let answers = services.map(|service| async move {
            let content = ContentKey::text(sha256, language);
            let kinds = service.text_kinds();
            let answer = self
                .screener
                .ask_service(content, service, kinds, service.screen_text(text, language))
                .await;
            (service, kinds, answer)
        });
        gathered(join_all(answers).await)
    }

    /// Adds a failure for every kind that has to be answered for and that nobody looks for.
    pub(super) fn name_missing(&self, screening: &mut Screening, about_pictures: bool) {
        for kind in FindingKind::ALL {
            let is_missing = self.purposes.iter().any(|purpose| {
                self.screener.inner.coverage.standing(kind, *purpose) == Standing::Missing
            });
            if is_missing && kind.is_about_pictures() == about_pictures {
                screening.failures.push(DetectorFailure {
                    detector: DetectorIdentity::new(kind.as_str().replace('_', "-"), "none"),
                    screens_for: vec![kind],
                    kind: DetectorFailureKind::NotInstalled,
                    detail: format!("nothing that is installed or configured looks for `{kind}`"),
                });
            }
        }
    }
}

fn gathered(answers: Vec<(&Arc<dyn ScreeningService>, &[FindingKind], Answer)>) -> Screening {
    let mut screening = Screening::default();
    for (service, kinds, answer) in answers {
        screening.add(service.identity(), kinds, answer);
    }
    screening
}
