//! Prints how the time of a search grows for texts made to be slow: one pattern repeated, at two lengths.

use std::{io::Write as _, time::Instant};

use agon_pii::{Detector, Options};

const PATTERNS: &[&str] = &[
    "1",
    "1234-",
    "12 ",
    "a",
    "a@",
    "@a.",
    "a.b@c.d ",
    "+1 ",
    "(1) ",
    "1.",
    "1:2:",
    "AKIA",
    "eyJ",
    "l1 ",
    "://",
    "http://a:b@",
    "a://",
    "passport ",
    "pass",
    "passport1234567 ",
    "A<",
    "A<\n",
    "one ",
    "at dot ",
    "a at b dot c ",
    "0.1234,",
    "-----BEGIN PRIVATE KEY-----",
    "Server=;Password=a;",
    "server=",
    "姓",
    "路1号",
    "市路1号",
    "4111 1111 1111 1111 ",
    "DE89 3704 ",
    "my name is A ",
    "is is is ",
    "1/2",
    "٠",
    "\u{200b}1",
    "password: ",
    "password=",
    ", 10115 A",
    "geo:",
    "::",
    "[at]",
    "0x",
    "1 rue ",
    "1 a ",
    "x1x2x3x4",
    "A1B2C3D4E5 ",
    "0.1234, 0.1234, ",
    "+",
    "23456789+",
    "1°",
    "card card card ",
    "IBAN DE89370400440532013000 ",
    "- ",
    "123456789 ",
    "abc-123_",
    "\n",
    "ｱ",
    "é",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let detector = Detector::new(&Options::default())?;
    let mut out = std::io::stdout().lock();
    for pattern in PATTERNS {
        let seconds = |bytes: usize| {
            let text = pattern.repeat(bytes / pattern.len());
            (0..3)
                .map(|_| {
                    let start = Instant::now();
                    std::hint::black_box(detector.find(&text));
                    start.elapsed().as_secs_f64()
                })
                .fold(f64::INFINITY, f64::min)
        };
        let (small, middle, large) = (seconds(5_000), seconds(50_000), seconds(1_000_000));
        writeln!(
            out,
            "{pattern:?}\t5 kB {:.2} ms\t50 kB {:.2} ms\t1 MB {:.1} ms\tns/byte {:.0} -> {:.0}",
            small * 1e3,
            middle * 1e3,
            large * 1e3,
            small * 1e9 / 5e3,
            large * 1e9 / 1e6
        )?;
    }
    Ok(())
}
