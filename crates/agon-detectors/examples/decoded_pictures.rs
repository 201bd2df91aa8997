//! Writes the pixels that detectors see, as PPM files, for `scripts/nsfw-reference.py`: `decoded_pictures FOLDER DEST`.

use std::{env, error::Error, fs, io::Write as _, path::Path};

use agon_content::image::{ImageLimits, decode_normalised, normalise};

#[expect(clippy::print_stderr, reason = "it is a program")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [source, dest] = arguments.as_slice() else {
        return Err("decoded_pictures: expected FOLDER and DEST".into());
    };
    for entry in fs::read_dir(source)? {
        let path = entry?.path();
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(&path)?;
        // PNG and JPEG are read as they are; other formats only pass through the normaliser.
        let pixels = decode_normalised(&bytes)
            .or_else(|_| decode_normalised(&normalise(&bytes, &ImageLimits::default())?.bytes));
        let name = path.file_name().ok_or("a file without a name")?;
        match pixels {
            Ok(pixels) => {
                let mut file = fs::File::create(
                    Path::new(dest).join(format!("{}.ppm", name.to_string_lossy())),
                )?;
                writeln!(file, "P6 {} {} 255", pixels.width_px(), pixels.height_px())?;
                file.write_all(pixels.as_rgb())?;
            }
            Err(error) => eprintln!("{}: {error}", path.display()),
        }
    }
    Ok(())
}
