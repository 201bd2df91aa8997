//! How far compressed inputs may unpack, for every command that reads them.

use agon_dataset::UnpackLimits;
use clap::Args;

/// How far compressed inputs may unpack.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Compressed inputs")]
pub struct UnpackArgs {
    /// What one source may unpack to: bytes, or with KiB, MiB, GiB, TiB [default: 64GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub unpack_max: Option<u64>,
    /// Unpacked bytes for each packed one, looked at from 256 MiB on [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub unpack_ratio_max: Option<u64>,
    /// Files of one archive [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub unpack_files_max: Option<u32>,
}

impl UnpackArgs {
    /// The limits, those that are not given at their defaults.
    pub fn limits(&self) -> UnpackLimits {
        let default = UnpackLimits::default();
        UnpackLimits {
            bytes_max: self.unpack_max.unwrap_or(default.bytes_max),
            ratio_max: self.unpack_ratio_max.unwrap_or(default.ratio_max),
            members_max: self
                .unpack_files_max
                .map_or(default.members_max, |n| n as usize),
        }
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (number, shift) = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)]
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?.trim_end(), shift)))
        .unwrap_or((text, 0));
    number
        .parse::<u64>()
        .ok()
        .filter(|&number| number > 0)
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| {
            "expected a whole number above 0, of bytes or with KiB, MiB, GiB or TiB, such as 64GiB"
                .to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_bytes_or_has_a_unit() {
        for (text, expected) in [
            ("1", Some(1)),
            ("2KiB", Some(2048)),
            ("3 MiB", Some(3 << 20)),
            ("64GiB", Some(64 << 30)),
            ("1TiB", Some(1 << 40)),
            ("0", None),
            ("", None),
            ("1.5GiB", None),
            ("64GB", None),
            ("18446744073709551615KiB", None),
        ] {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
    }
}
