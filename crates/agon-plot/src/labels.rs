//! Places for labels that would rather all be where their lines end.

/// Positions as near as possible to `wanted` (least sum of squares), at least `apart` from each other, within `top` to
/// `bottom`. `wanted` is in the order in which the labels stand, from `top` down.
///
/// With zᵢ = wantedᵢ − i · apart the distances become an ordering, and the answer an isotonic regression, which pooling
/// adjacent violators gives exactly (Barlow et al. 1972, "Statistical Inference under Order Restrictions").
/// Clamping an isotonic regression to bounds solves the bounded problem.
pub(crate) fn spread(wanted: &[f64], apart: f64, top: f64, bottom: f64) -> Vec<f64> {
    // Pools of neighbours that share one value: sum and number.
    let mut pools: Vec<(f64, usize)> = Vec::with_capacity(wanted.len());
    for (index, position) in wanted.iter().enumerate() {
        let mut pool = (position - index as f64 * apart, 1);
        while let Some((sum, number)) = pools.last().copied() {
            if sum / number as f64 <= pool.0 / pool.1 as f64 {
                break;
            }
            pools.pop();
            pool = (pool.0 + sum, pool.1 + number);
        }
        pools.push(pool);
    }
    let last = bottom - wanted.len().saturating_sub(1) as f64 * apart;
    let mut places = Vec::with_capacity(wanted.len());
    for (sum, number) in pools {
        // Where there is too little room, the labels run over the bottom rather than into each other.
        let shared = (sum / number as f64).min(last).max(top);
        for _ in 0..number {
            places.push(shared + places.len() as f64 * apart);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_with_room_stay() {
        assert_eq!(
            spread(&[10.0, 50.0, 90.0], 15.0, 0.0, 100.0),
            [10.0, 50.0, 90.0]
        );
    }

    #[test]
    fn a_crowd_opens_around_its_middle() {
        assert_eq!(
            spread(&[50.0, 50.0, 50.0], 10.0, 0.0, 100.0),
            [40.0, 50.0, 60.0]
        );
        assert_eq!(
            spread(&[98.0, 99.0, 100.0], 10.0, 0.0, 100.0),
            [80.0, 90.0, 100.0]
        );
    }

    proptest! {
        #[test]
        fn no_two_labels_are_nearer_than_asked(mut wanted in prop::collection::vec(0.0..400.0f64, 0..30)) {
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, 12.0, 0.0, 400.0);
            prop_assert_eq!(places.len(), wanted.len());
            for pair in places.windows(2) {
                prop_assert!(pair[1] - pair[0] >= 12.0 - 1e-9);
            }
            prop_assert!(places.iter().all(|place| (-1e-9..=400.0 + 1e-9).contains(place)));
        }
    }
}
