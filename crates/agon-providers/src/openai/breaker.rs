//! Leaves an endpoint alone that keeps failing, so that voters do not wait for what will not come.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// So many failures within [`WINDOW_MS`] open the breaker.
const N_FAILURES_MAX: usize = 5;

/// How far back failures count, in milliseconds.
const WINDOW_MS: u64 = 10_000;

/// How long the endpoint is left alone; after it one request is let through per such time until one succeeds, in milliseconds.
const OPEN_MS: u64 = 15_000;

/// The breaker of one endpoint.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: VecDeque<Instant>,
    open_until: Option<Instant>,
}

impl Breaker {
    /// Lets a request through, or says how long none is.
    pub(super) fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open_until {
            Some(until) if now < until => Err(until - now),
            Some(_) => {
                // The one that tries. If it never reports, another tries after the same time.
                state.open_until = Some(now + Duration::from_millis(OPEN_MS));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether requests are let through without a trial.
    pub(super) fn is_closed(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.open_until.is_none()
    }

    /// The endpoint gave a sign of life.
    pub(super) fn succeeded(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::default();
    }

    /// The endpoint failed in a way that may pass.
    pub(super) fn failed(&self, now: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures.push_back(now);
        while state
            .failures
            .front()
            .is_some_and(|&at| now.duration_since(at) > Duration::from_millis(WINDOW_MS))
        {
            state.failures.pop_front();
        }
        if state.failures.len() >= N_FAILURES_MAX || state.open_until.is_some() {
            state.failures.clear();
            state.open_until = Some(now + Duration::from_millis(OPEN_MS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn five_failures_in_ten_seconds_open_it_and_a_success_closes_it() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let breaker = Breaker::default();
        for n in 0..4 {
            breaker.failed(at(n * 1000));
        }
        assert_eq!(breaker.admit(at(3_000)), Ok(()));
        // The fifth comes when the first no longer counts.
        breaker.failed(at(10_001));
        assert!(breaker.is_closed());
        breaker.failed(at(10_500));
        assert!(!breaker.is_closed());
        assert_eq!(
            breaker.admit(at(10_500)),
            Err(Duration::from_millis(15_000))
        );
        assert_eq!(breaker.admit(at(25_499)), Err(Duration::from_millis(1)));
        // One tries, the others wait.
        assert_eq!(breaker.admit(at(25_500)), Ok(()));
        assert!(breaker.admit(at(25_501)).is_err());
        breaker.failed(at(26_000));
        assert_eq!(
            breaker.admit(at(26_000)),
            Err(Duration::from_millis(15_000))
        );
        assert_eq!(breaker.admit(at(41_000)), Ok(()));
        breaker.succeeded();
        assert!(breaker.is_closed());
        assert_eq!(breaker.admit(at(41_001)), Ok(()));
    }
}
