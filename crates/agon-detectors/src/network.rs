//! One neural network: verified bytes in, numbers out. The only place that knows the inference runtime.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use rten::{Model, NodeId, RunOptions, ThreadPool, Value};

use crate::{
    Error,
    weights::{self, ModelFile},
};

/// The threads that all networks of a process compute on.
#[derive(Clone)]
pub struct Runtime(Arc<ThreadPool>);

impl Runtime {
    /// A pool of `n_threads` (at least 1). More than there are cores make nothing quicker.
    pub fn new(n_threads: usize) -> Self {
        Self(Arc::new(ThreadPool::with_num_threads(n_threads.max(1))))
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// A network in memory. Shared by all who look at pictures at the same time.
pub(crate) struct Network {
    file: &'static ModelFile,
    model: Model,
    input: NodeId,
    options: RunOptions,
}

/// Numbers that a network gave, with the sizes of their `RANK` dimensions.
#[derive(Debug)]
pub(crate) struct Output<const RANK: usize> {
    pub(crate) shape: [usize; RANK],
    pub(crate) values: Vec<f32>,
}

impl Network {
    /// Loads an installed file, after its checksum. `prepare` may change the bytes in memory.
    pub(crate) fn load(
        file: &'static ModelFile,
        folder: &Path,
        runtime: &Runtime,
        prepare: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, String>,
    ) -> Result<Self, Error> {
        let bad = |detail: String| Error::BadModel {
            name: file.name,
            detail,
        };
        let bytes = prepare(weights::load(file, folder)?).map_err(bad)?;
        let model = Model::load(bytes).map_err(|error| bad(error.to_string()))?;
        let input = *model
            .input_ids()
            .first()
            .ok_or_else(|| bad("it has no input".to_owned()))?;
        Ok(Self {
            file,
            model,
            input,
            options: RunOptions::default().with_thread_pool(Some(Arc::clone(&runtime.0))),
        })
    }

    /// A text that the file carries under this name.
    pub(crate) fn metadata(&self, name: &str) -> Option<&str> {
        self.model.metadata().get(name)
    }

    /// The outputs of these names for one input; without names the first one.
    ///
    /// # Errors
    ///
    /// What went wrong, in words that hold nothing of the picture.
    pub(crate) fn run<const RANK: usize>(
        &self,
        shape: [usize; 4],
        values: Vec<f32>,
        outputs: &[&str],
    ) -> Result<Vec<Output<RANK>>, String> {
        let named = |error: &dyn fmt::Display| format!("{}: {error}", self.file.name);
        let input = Value::from_shape(shape, values).map_err(|error| named(&error))?;
        let ids = if outputs.is_empty() {
            self.model.output_ids()[..1].to_vec()
        } else {
            outputs
                .iter()
                .map(|name| self.model.node_id(name).map_err(|error| named(&error)))
                .collect::<Result<_, _>>()?
        };
        // The runtime is other people's code, and one picture must not take the process with it.
        let values = catch_unwind(AssertUnwindSafe(|| {
            self.model.run(
                vec![(self.input, input.into())],
                &ids,
                Some(self.options.clone()),
            )
        }))
        .map_err(|_| named(&"the runtime panicked"))?
        .map_err(|error| named(&error))?;
        values
            .into_iter()
            .map(|value| {
                let (shape, values) = value
                    .into_shape_vec::<f32, RANK>()
                    .map_err(|error| named(&error))?;
                Ok(Output { shape, values })
            })
            .collect()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Network")
            .field("file", &self.file.name)
            .finish_non_exhaustive()
    }
}

/// The order of the planes that a network takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// Red first.
    Rgb,
    /// Blue first.
    Bgr,
}

/// Pixels as a network takes them: one plane of `width` × `height` after the other, each value through `map`.
///
/// Where the plane is larger than the picture, it is 0.
pub(crate) fn planes(
    rgb: &[u8],
    picture_width: usize,
    (width, height): (usize, usize),
    channels: Channels,
    map: impl Fn(f32) -> f32,
) -> Vec<f32> {
    let mapped: [f32; 256] = std::array::from_fn(|value| map(value as f32));
    let mut planes = vec![0.0; 3 * width * height];
    for (y, row) in rgb.chunks_exact(picture_width * 3).take(height).enumerate() {
        for (x, pixel) in row.as_chunks::<3>().0.iter().take(width).enumerate() {
            for (idx, value) in pixel.iter().enumerate() {
                let channel = match channels {
                    Channels::Rgb => idx,
                    Channels::Bgr => 2 - idx,
                };
                planes[(channel * height + y) * width + x] = mapped[usize::from(*value)];
            }
        }
    }
    planes
}
