//! Runs inner loops with the vector instructions that the machine has, without changing a bit of the result.
//!
//! The same additions and multiplications happen in the same order either way: a loop that works on four numbers at a
//! time says so in its source, and the compiler never fuses a multiplication with an addition on its own.

/// Work whose loops gain from wider vectors. `run` and all that it calls in its loops must be `#[inline(always)]`.
pub(crate) trait Work {
    /// What comes out.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Does the work with 256-bit vectors where there are some.
pub(crate) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(
            unsafe_code,
            reason = "the one call that the compiler cannot check: the instructions were detected in the line above"
        )]
        // SAFETY: `with_avx2` asks for nothing but a machine that has AVX2.
        return unsafe { with_avx2(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}
