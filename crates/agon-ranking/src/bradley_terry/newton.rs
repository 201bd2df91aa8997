//! Newton's method to a checked optimum.

use super::FitOptions;
use super::conjugate_gradients::ConjugateGradients;
use super::design::Sums;
use super::information::DENSE_MAX;
use super::likelihood::Likelihood;
use crate::Error;
use crate::linear_algebra::Matrix;

/// Steps below this, in nats, need no new information matrix when a fit starts near its optimum.
pub(crate) const CHORD: f64 = 1e-3;

/// How near the optimum Newton's method came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    pub(crate) gradient_max: f64,
    pub(crate) gradient_limit: f64,
    pub(crate) step_max: f64,
    pub(crate) iterations: usize,
}

/// Gradient and the sums behind the information at one point; reused between iterations.
#[derive(Debug)]
struct Evaluation {
    gradient: Vec<f64>,
    gradient_max: f64,
    sums: Sums,
    /// Whether the sums have what the information is made of.
    has_information: bool,
    /// Log-likelihood and objective, once they have been asked for.
    value: Option<(f64, f64)>,
}

impl Evaluation {
    fn new(n: usize) -> Self {
        Self {
            gradient: vec![0.0; n],
            gradient_max: 0.0,
            sums: Sums::default(),
            has_information: false,
            value: None,
        }
    }

    fn evaluate(
        &mut self,
        likelihood: &Likelihood<'_>,
        parameters: &[f64],
        with_information: bool,
        fixed: &[usize],
    ) {
        self.value = None;
        self.has_information = with_information;
        likelihood.slopes(
            parameters,
            with_information,
            &mut self.gradient,
            &mut self.sums,
        );
        // A fixed parameter has no gradient that could vanish.
        for &idx in fixed {
            self.gradient[idx] = 0.0;
        }
        self.gradient_max = largest(&self.gradient);
    }
}

/// Largest absolute value.
fn largest(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0, |max, value| f64::max(max, value.abs()))
}

/// How steps are found.
#[derive(Debug)]
enum Solver {
    Dense(Matrix),
    Iterative(Box<ConjugateGradients>),
}

/// Everything that a fit writes to, so that the next one of the same size allocates nothing.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Strengths, then coefficients: the start before, the optimum after.
    pub(crate) parameters: Vec<f64>,
    /// Parameters that keep the value of the start, besides the model held fixed.
    pub(crate) fixed: Vec<usize>,
    candidate: Vec<f64>,
    step: Vec<f64>,
    solver: Solver,
    current: Evaluation,
    next: Evaluation,
}

impl Workspace {
    pub(crate) fn new(n_parameters: usize) -> Self {
        Self {
            parameters: vec![0.0; n_parameters],
            fixed: Vec::new(),
            candidate: vec![0.0; n_parameters],
            step: vec![0.0; n_parameters],
            solver: if n_parameters > DENSE_MAX {
                Solver::Iterative(Box::new(ConjugateGradients::new(n_parameters)))
            } else {
                Solver::Dense(Matrix::zeros(n_parameters))
            },
            current: Evaluation::new(n_parameters),
            next: Evaluation::new(n_parameters),
        }
    }

    /// Works out what the information at the parameters is made of, unless it is there.
    pub(super) fn evaluate_fully(&mut self, likelihood: &Likelihood<'_>) {
        if !self.current.has_information {
            self.current
                .evaluate(likelihood, &self.parameters, true, &self.fixed);
        }
    }

    /// The sums behind the information at the parameters, after they have been worked out.
    pub(super) fn take_sums(&mut self) -> Sums {
        std::mem::take(&mut self.current.sums)
    }
}

/// When to stop.
#[derive(Clone, Copy)]
struct Limits {
    /// The optimum is reached when no strength has further than this to go, in nats.
    step: f64,
    /// Steps below this that no longer shrink are rounding errors.
    noise: f64,
}

impl Likelihood<'_> {
    /// Newton's method with step halving, from the parameters in `work` to the optimum.
    ///
    /// Once a step was no longer than `chord`, and as long as steps shrink to a tenth each time, the information is not
    /// computed anew (chord method; Ortega & Rheinboldt 1970, §7.1): the optimum is the same, each step cheaper.
    pub(crate) fn newton(
        &self,
        work: &mut Workspace,
        options: &FitOptions,
        chord: f64,
    ) -> Result<Reached, Error> {
        let limits = Limits {
            step: 1e-12,
            noise: 1e-6,
        };
        self.newton_until(work, options, chord, limits, None)
    }

    /// The same from a point near the optimum, with an inverse of the information that was right near by.
    ///
    /// As long as steps shrink to a tenth each time, nothing has to be factored. What the inverse says of the location is
    /// of no matter, so there must be no penalty on strengths.
    pub(super) fn newton_near(
        &self,
        work: &mut Workspace,
        options: &FitOptions,
        inverse: &Matrix,
    ) -> Result<Reached, Error> {
        let limits = Limits {
            step: 1e-12,
            noise: 1e-6,
        };
        self.newton_until(work, options, CHORD, limits, Some(inverse))
    }

    /// The same, to where a finer objective takes over.
    pub(super) fn newton_roughly(
        &self,
        work: &mut Workspace,
        options: &FitOptions,
    ) -> Result<Reached, Error> {
        let limits = Limits {
            step: 1e-3,
            noise: 1e-3,
        };
        self.newton_until(work, options, 0.0, limits, None)
    }

    fn newton_until(
        &self,
        work: &mut Workspace,
        options: &FitOptions,
        chord: f64,
        limits: Limits,
        mut inverse: Option<&Matrix>,
    ) -> Result<Reached, Error> {
        /// Steps longer than this, in nats, must raise the objective.
        const LONG_STEP: f64 = 1.0;
        /// After a step shorter than this, in nats, the point may be the last, at which the information is wanted.
        const LAST_STEP: f64 = 1e-7;
        /// The shortest step tried before the search is given up.
        const SHARE_MIN: f64 = 1e-9;

        let Workspace {
            parameters,
            fixed,
            candidate,
            step,
            solver,
            current,
            next,
        } = work;
        let gradient_limit = options.gradient_tolerance * self.total_weight();
        let is_near = inverse.is_some();
        let mut refresh = !is_near;
        current.evaluate(self, parameters, refresh, fixed);
        let mut iterations = 0;
        let mut step_before = f64::INFINITY;
        loop {
            if refresh {
                self.prepare(solver, &current.sums, fixed)?;
                inverse = None;
            }
            if let Some(inverse) = inverse {
                inverse.multiply(&current.gradient, step);
            } else {
                step.copy_from_slice(&current.gradient);
                self.solve(solver, step, step_before)?;
            }
            let step_max = largest(step);
            let shrinking = step_max < 0.5 * step_before;
            // A first step says nothing about how fast they shrink, but a short one comes from a near start.
            let reliable = iterations == 0 || step_max <= 0.1 * step_before;
            // Steps by a foreign inverse are believed when they have shrunk.
            let certain = inverse.is_none() || (iterations > 0 && reliable);
            let reached = Reached {
                gradient_max: current.gradient_max,
                gradient_limit,
                step_max,
                iterations,
            };
            if certain
                && current.gradient_max <= gradient_limit
                && (step_max <= limits.step || (step_max <= limits.noise && !shrinking))
            {
                return Ok(reached);
            }
            let failed = Error::NotConverged {
                iterations,
                gradient_max: current.gradient_max,
                gradient_limit,
            };
            if iterations == options.iterations_max {
                return Err(failed);
            }
            refresh = step_max > chord || !reliable;
            step_before = step_max;

            let mut share = 1.0;
            loop {
                for ((candidate, value), step) in
                    candidate.iter_mut().zip(parameters.iter()).zip(step.iter())
                {
                    *candidate = value + share * step;
                }
                let with_information = refresh || (is_near && step_max <= LAST_STEP);
                next.evaluate(self, candidate, with_information, fixed);
                // The objective is dearer than the gradient, so it is asked only where the gradient did not fall, and
                // after long steps: those may lead to where every outcome looks certain, and the gradient is small too.
                if share * step_max <= LONG_STEP && next.gradient_max < current.gradient_max {
                    break;
                }
                let before = *current.value.get_or_insert_with(|| self.value(parameters));
                let after = *next.value.get_or_insert_with(|| self.value(candidate));
                if after.1 >= before.1 {
                    break;
                }
                share *= 0.5;
                if share < SHARE_MIN {
                    // No step gains anything: this is the optimum as far as it can be computed.
                    if current.gradient_max <= gradient_limit && step_max <= limits.noise {
                        return Ok(reached);
                    }
                    return Err(failed);
                }
            }
            std::mem::swap(parameters, candidate);
            std::mem::swap(current, next);
            iterations += 1;
        }
    }

    /// Makes ready for solving with the information at a point.
    fn prepare(&self, solver: &mut Solver, sums: &Sums, fixed: &[usize]) -> Result<(), Error> {
        let n_models = self.design.n_models;
        match solver {
            Solver::Dense(factor) => {
                factor.clear();
                sums.add_information(&self.design.runs, factor);
                for (idx, &ridge) in self.ridge.iter().enumerate() {
                    factor.add(idx, idx, ridge);
                }
                for &idx in self.ground.iter().chain(fixed) {
                    factor.ground(idx);
                }
                factor
                    .factor()
                    .map_err(|column| match column.checked_sub(n_models) {
                        Some(feature) => Error::CollinearFeature { feature },
                        None => Error::Singular,
                    })
            }
            Solver::Iterative(solver) => {
                solver.prepare(&self.design.runs, sums, &self.ridge, self.ground, fixed)
            }
        }
    }

    /// Turns the gradient in `step` into the Newton step.
    fn solve(&self, solver: &mut Solver, step: &mut [f64], step_before: f64) -> Result<(), Error> {
        match solver {
            Solver::Dense(factor) => {
                if let Some(ground) = self.ground {
                    step[ground] = 0.0;
                }
                factor.solve(step);
                Ok(())
            }
            Solver::Iterative(solver) => {
                // As exact as the next step can make use of (Dembo, Eisenstat & Steihaug 1982).
                let tolerance = (step_before * step_before).clamp(1e-9, 1e-3);
                solver.solve(&self.design.runs, step, tolerance)
            }
        }
    }
}
