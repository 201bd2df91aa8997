//! How long each detector takes for a picture: `detect_speed MODELS PICTURE [THREADS]`, medians of five in milliseconds.
//!
//! The picture is scaled to a number of megapixels first, if a fourth argument says how many, and normalised as an upload is.
//! Beside the time on the wall is that of the processor, which other programs on the machine change less; on two idle cores networks take a little more than half of it.

use std::{
    env,
    error::Error,
    fs,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use agon_content::{
    detect::PictureDetector,
    image::{ImageLimits, Pixels, decode_normalised, normalise},
};
use agon_detectors::{
    FaceOptions, Faces, Ocr, OpenNsfw, OpenNsfwOptions, PiiInPicture, Runtime, read_codes,
};

const N_RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (folder, picture) = match arguments.as_slice() {
        [folder, picture, ..] => (Path::new(folder), picture),
        _ => return Err("detect_speed: expected MODELS and PICTURE".into()),
    };
    let n_threads = arguments.get(2).map_or(Ok(2), |text| text.parse())?;
    let mut bytes = fs::read(picture)?;
    if let Some(megapixels) = arguments.get(3) {
        let pixels = decode_normalised(&bytes)?;
        let n_pixels = f64::from(pixels.width_px()) * f64::from(pixels.height_px());
        let factor = (megapixels.parse::<f64>()? * 1e6 / n_pixels).sqrt();
        let side = |side: u32| (f64::from(side) * factor) as u32;
        let enlarged = pixels.resized(side(pixels.width_px()), side(pixels.height_px()));
        bytes = enlarged.encoded().ok_or("too large to encode")?.0;
    }
    let mut out = std::io::stdout().lock();
    let mut timed = |name: &str, work: &mut dyn FnMut() -> String| {
        let cpu = cpu_time();
        let mut times: Vec<(Duration, String)> = (0..N_RUNS)
            .map(|_| {
                let start = Instant::now();
                let said = work();
                (start.elapsed(), said)
            })
            .collect();
        let cpu = (cpu_time() - cpu) / N_RUNS as f64;
        times.sort();
        let (median, said) = &times[N_RUNS / 2];
        let wall = median.as_secs_f64();
        writeln!(
            out,
            "{name:<24} {:>7.0} ms {:>7.0} ms of processor  {said}",
            wall * 1e3,
            cpu * 1e3
        )
    };
    let limits = ImageLimits::default();
    timed("normalise", &mut || match normalise(&bytes, &limits) {
        Ok(image) => format!("{} x {}", image.width_px, image.height_px),
        Err(error) => error.to_string(),
    })?;
    let picture = decode_normalised(&normalise(&bytes, &limits)?.bytes)?;
    let start = Instant::now();
    let runtime = Runtime::new(n_threads);
    let nsfw = OpenNsfw::load(folder, &runtime, OpenNsfwOptions::default())?;
    let faces = Faces::centerface(folder, &runtime, &FaceOptions::default())?;
    let thorough = Faces::centerface(folder, &runtime, &FaceOptions::thorough())?;
    let built_in = Faces::built_in(&FaceOptions::default())?;
    let ocr = Ocr::load(folder, &runtime)?;
    let pii = PiiInPicture::new(ocr.clone(), &agon_pii::Options::default())?;
    let loaded = start.elapsed();
    let found = |detector: &dyn PictureDetector, picture: &Pixels| match detector.find(picture) {
        Ok(findings) => format!("{} findings", findings.len()),
        Err(failure) => failure.detail,
    };
    timed("open-nsfw", &mut || found(&nsfw, &picture))?;
    timed("centerface", &mut || found(&faces, &picture))?;
    timed("centerface, thorough", &mut || found(&thorough, &picture))?;
    timed("seetaface (built in)", &mut || found(&built_in, &picture))?;
    timed("text", &mut || match ocr.read_text(&picture) {
        Ok(lines) => format!("{} lines", lines.len()),
        Err(failure) => failure.detail,
    })?;
    timed("codes", &mut || match read_codes(&picture) {
        Ok(codes) => format!("{} codes", codes.len()),
        Err(detail) => detail,
    })?;
    timed("personal data", &mut || found(&pii, &picture))?;
    writeln!(out, "all loaded in {:.0} ms", loaded.as_secs_f64() * 1e3)?;
    Ok(())
}

/// Processor time of this process so far, in seconds; 0 where Linux does not tell.
fn cpu_time() -> f64 {
    /// What Linux counts in, on every machine.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may hold spaces; the numbers come after it. User and system time are fields 14 and 15.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS_PER_SECOND
}
