//! How often a visit and an address may ask.

use std::{net::IpAddr, num::NonZeroU32, time::Duration};

use agon_domain::{VisitId, voter::canonical_prefix};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};

use crate::{app::AppError, config::LimitsConfig};

/// Token buckets for visits and for address prefixes, in memory only.
#[derive(Debug)]
pub struct RateLimits {
    visits: DefaultKeyedRateLimiter<VisitId>,
    addresses: DefaultKeyedRateLimiter<String>,
}

impl RateLimits {
    /// Buckets of the configured sizes, which refill within a minute.
    pub fn new(limits: &LimitsConfig) -> Self {
        let quota = |n: u32| Quota::per_minute(NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN));
        Self {
            visits: RateLimiter::keyed(quota(limits.prompts_per_minute_visit)),
            addresses: RateLimiter::keyed(quota(limits.prompts_per_minute_address)),
        }
    }

    /// Takes a token of the address's bucket, and of the visit's.
    ///
    /// # Errors
    ///
    /// [`AppError::RateLimited`] with the seconds to wait.
    pub fn take(&self, visit: Option<VisitId>, address: IpAddr) -> Result<(), AppError> {
        let wait = |until: governor::NotUntil<_>| AppError::RateLimited {
            retry_after_s: until
                .wait_time_from(DefaultClock::default().now())
                .max(Duration::from_secs(1))
                .as_secs(),
        };
        if let Some(visit) = visit {
            self.visits.check_key(&visit).map_err(wait)?;
        }
        self.addresses
            .check_key(&canonical_prefix(address))
            .map_err(wait)
    }

    /// Forgets everyone whose bucket is full again, so that memory does not grow with the number of visitors.
    pub fn forget_idle(&self) {
        self.visits.retain_recent();
        self.visits.shrink_to_fit();
        self.addresses.retain_recent();
        self.addresses.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_that_asks_too_often_is_told_when_to_come_back() {
        let limits = RateLimits::new(&LimitsConfig {
            prompts_per_minute_visit: 2,
            prompts_per_minute_address: 3,
            ..LimitsConfig::default()
        });
        let address = "192.0.2.1".parse().unwrap();
        let visit = |byte| Some(VisitId::from_bytes([byte; 32]));
        assert!(limits.take(visit(1), address).is_ok());
        assert!(limits.take(visit(1), address).is_ok());
        let error = limits.take(visit(1), address).unwrap_err();
        assert!(
            matches!(
                error,
                AppError::RateLimited {
                    retry_after_s: 1..=60
                }
            ),
            "{error:?}"
        );
        assert!(limits.take(visit(2), address).is_ok());
        assert!(
            limits.take(visit(3), address).is_err(),
            "the address has asked three times"
        );
        assert!(
            limits
                .take(visit(3), "2001:db8::1".parse().unwrap())
                .is_ok()
        );
    }
}
