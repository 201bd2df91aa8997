//! Refusals in a row: whoever is refused again and again waits longer and longer, so that a detector cannot be felt out.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use agon_domain::{VisitId, voter::canonical_prefix};
use jiff::{SignedDuration, Timestamp};

/// How long a refusal counts.
const WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// How long the second refusal in a row makes its visit wait, in seconds; each further one doubles it.
const DELAY_FIRST_S: i64 = 5;
/// How many visits of one network address may be refused as often as one visit may.
const VISITS_PER_ADDRESS: usize = 10;

/// The refusals of the last hour, by visit and by network address. In memory only.
#[derive(Debug)]
pub struct Refusals {
    per_hour_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    visits: HashMap<VisitId, Vec<Timestamp>>,
    addresses: HashMap<String, Vec<Timestamp>>,
}

impl Refusals {
    /// At most so many a visit and an hour.
    pub fn new(per_hour_max: u32) -> Self {
        Self {
            per_hour_max: usize::try_from(per_hour_max).unwrap_or(usize::MAX),
            kept: Mutex::default(),
        }
    }

    /// Whether content of this visit is looked at now.
    ///
    /// # Errors
    ///
    /// The seconds to wait.
    pub fn check(&self, visit: VisitId, address: IpAddr, now: Timestamp) -> Result<(), u64> {
        let kept = self.lock();
        let wait_until = [
            kept.visits
                .get(&visit)
                .and_then(|times| self.visit_waits_until(times, now)),
            kept.addresses
                .get(&canonical_prefix(address))
                .and_then(|times| {
                    window_is_full(times, self.per_hour_max * VISITS_PER_ADDRESS, now)
                }),
        ]
        .into_iter()
        .flatten()
        .max();
        match wait_until.map(|until| until.duration_since(now).as_secs()) {
            Some(seconds) if seconds >= 0 => Err(u64::try_from(seconds).unwrap_or(0).max(1)),
            _ => Ok(()),
        }
    }

    /// Notes a refusal.
    pub fn note(&self, visit: VisitId, address: IpAddr, now: Timestamp) {
        let mut kept = self.lock();
        kept.visits.entry(visit).or_default().push(now);
        kept.addresses
            .entry(canonical_prefix(address))
            .or_default()
            .push(now);
    }

    /// Forgets what no longer counts, so that memory does not grow.
    pub fn forget_old(&self, now: Timestamp) {
        let mut kept = self.lock();
        let forget = |times: &mut Vec<Timestamp>| {
            times.retain(|time| counts(*time, now));
            !times.is_empty()
        };
        kept.visits.retain(|_, times| forget(times));
        kept.addresses.retain(|_, times| forget(times));
    }

    /// Until when a visit waits: after the second refusal in an hour for a time that doubles, after the last one allowed until the first is an hour old.
    fn visit_waits_until(&self, times: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
        if let Some(until) = window_is_full(times, self.per_hour_max, now) {
            return Some(until);
        }
        let n = times.iter().filter(|time| counts(**time, now)).count();
        let doublings = u32::try_from(n.checked_sub(2)?).unwrap_or(u32::MAX);
        let delay_s = DELAY_FIRST_S
            .checked_shl(doublings.min(32))
            .unwrap_or(i64::MAX)
            .min(WINDOW.as_secs());
        let until = times
            .last()?
            .checked_add(SignedDuration::from_secs(delay_s))
            .ok()?;
        (until > now).then_some(until)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn counts(time: Timestamp, now: Timestamp) -> bool {
    now.duration_since(time) < WINDOW
}

/// When the window has room again, if it is full.
fn window_is_full(times: &[Timestamp], n_max: usize, now: Timestamp) -> Option<Timestamp> {
    let counting: Vec<&Timestamp> = times.iter().filter(|time| counts(**time, now)).collect();
    let first = counting.len().checked_sub(n_max)?;
    counting.get(first)?.checked_add(WINDOW).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    fn visit(n: u8) -> VisitId {
        VisitId::from_bytes([n; 32])
    }

    #[test]
    fn the_first_refusal_is_free_and_each_further_one_doubles_the_wait() {
        let refusals = Refusals::new(10);
        refusals.note(visit(1), ADDRESS, at(0));
        assert_eq!(refusals.check(visit(1), ADDRESS, at(0)), Ok(()));
        refusals.note(visit(1), ADDRESS, at(0));
        assert_eq!(refusals.check(visit(1), ADDRESS, at(0)), Err(5));
        assert_eq!(refusals.check(visit(1), ADDRESS, at(5)), Ok(()));
        refusals.note(visit(1), ADDRESS, at(5));
        assert_eq!(refusals.check(visit(1), ADDRESS, at(6)), Err(9));
        assert_eq!(refusals.check(visit(2), ADDRESS, at(6)), Ok(()));
    }

    #[test]
    fn a_thousand_probes_get_at_most_ten_answers_an_hour() {
        let refusals = Refusals::new(10);
        let mut answered = Vec::new();
        for probe in 0..1000 {
            let now = at(probe * 20);
            if refusals.check(visit(1), ADDRESS, now).is_ok() {
                refusals.note(visit(1), ADDRESS, now);
                answered.push(now);
            }
            refusals.forget_old(now);
        }
        for (idx, first) in answered.iter().enumerate() {
            let within = answered[idx..]
                .iter()
                .filter(|time| time.duration_since(*first) < WINDOW)
                .count();
            assert!(within <= 10, "{within} answers in the hour from {first}");
        }
        assert!(answered.len() > 10, "an hour later there is room again");
    }

    #[test]
    fn new_visits_do_not_help_an_address_for_ever() {
        let refusals = Refusals::new(2);
        for n in 0..20 {
            assert_eq!(refusals.check(visit(n), ADDRESS, at(0)), Ok(()), "{n}");
            refusals.note(visit(n), ADDRESS, at(0));
        }
        assert_eq!(refusals.check(visit(99), ADDRESS, at(60)), Err(3540));
        assert_eq!(refusals.check(visit(99), ADDRESS, at(3600)), Ok(()));
        refusals.forget_old(at(3600));
        assert!(refusals.lock().visits.is_empty());
        assert!(refusals.lock().addresses.is_empty());
    }
}
