//! Counts steps of work in tests, to show that they grow with the text and no faster.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts steps that were just done; nothing outside tests.
#[cfg_attr(
    not(test),
    expect(unused_variables, reason = "steps are counted in tests only")
)]
pub(crate) fn count(steps: usize) {
    #[cfg(test)]
    STEPS.with(|counted| counted.set(counted.get() + steps));
}

/// The steps counted in this thread since the last call.
#[cfg(test)]
pub(crate) fn take() -> usize {
    STEPS.with(Cell::take)
}
