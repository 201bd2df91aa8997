//! Colours to brightness.

/// Brightness of each pixel, three bytes to one (ITU-R BT.601).
pub(crate) fn of(rgb: &[u8]) -> Vec<u8> {
    rgb.as_chunks::<3>()
        .0
        .iter()
        .map(|[red, green, blue]| {
            let sum = 299 * u32::from(*red) + 587 * u32::from(*green) + 114 * u32::from(*blue);
            ((sum + 500) / 1000) as u8
        })
        .collect()
}
