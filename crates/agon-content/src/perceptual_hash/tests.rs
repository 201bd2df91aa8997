//! Tests of hash, turns and index: patterns by formula with the reference library's values, then the shared vectors.

use proptest::prelude::*;

use super::*;
use crate::image::tests::test_data;
use crate::image::{self, ImageLimits};

/// A picture by formula, each value modulo 256.
fn pattern(width: u32, height: u32, value: impl Fn(u32, u32) -> [u32; 3]) -> Pixels {
    let rgb = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .flat_map(|(x, y)| value(x, y).map(|value| (value % 256) as u8))
        .collect();
    Pixels::new(width, height, rgb).unwrap()
}

fn grey(width: u32, height: u32, value: impl Fn(u32, u32) -> u32) -> Pixels {
    pattern(width, height, |x, y| [value(x, y); 3])
}

fn noise(width: u32, height: u32) -> Pixels {
    let mut state = 12_345_u32;
    let rgb = (0..width * height)
        .flat_map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [(state >> 24) as u8; 3]
        })
        .collect();
    Pixels::new(width, height, rgb).unwrap()
}

/// The patterns of the shared vectors by name.
fn named_pattern(name: &str) -> Pixels {
    match name {
        "lin64" => grey(64, 64, |x, y| 3 * x + 5 * y),
        "mul256" => grey(256, 256, |x, y| x * y),
        "ring512" => grey(512, 512, |x, y| (x * x + y * y) >> 6),
        "lcg300x200" => noise(300, 200),
        "check128" => grey(
            128,
            128,
            |x, y| if (x / 8 + y / 8) % 2 == 1 { 255 } else { 0 },
        ),
        "flat100" => grey(100, 100, |_, _| 128),
        "tiny4" => grey(4, 4, |x, _| 60 * x),
        "rgbxor256" => pattern(256, 256, |x, y| [x, y, x ^ y]),
        "rgbmix320x240" => pattern(320, 240, |x, y| [(x * x) >> 8, 7 * y, 3 * x + y]),
        "blocks37x100" => grey(37, 100, |x, y| 37 * (x / 5) + 91 * (y / 10)),
        "wide500x20" => grey(500, 20, |x, y| x * y / 3),
        "five5" => grey(5, 5, |x, y| 50 * x + 10 * y),
        _ => panic!("no pattern `{name}`"),
    }
}

/// Hash and quality by the reference library in C++.
const REFERENCE: [(&str, &str, u8); 9] = [
    (
        "lin64",
        "01ffab00aa55aad5ff80003f556a554a555afff00007bffd0aa9aaabfffe0000",
        100,
    ),
    (
        "mul256",
        "c3efd3aa296b59403be30000cbcbfb2acaefbaaae9e90002e3ef8088ebd9aaaa",
        100,
    ),
    (
        "ring512",
        "3f807f00fc07f01fe07fe0ffc3ffc3fa87fa0fe00fe01f801f803e003f803e00",
        100,
    ),
    (
        "lcg300x200",
        "4873d96f776a9cd96c2a958e78393b64b7e7c1154b6653194ce6344029d358c5",
        100,
    ),
    (
        "tiny4",
        "0000000000000000000000000000000000000000000000000000000000000000",
        0,
    ),
    (
        "rgbxor256",
        "02ab2aab4ccc0ccc72f332f3cccc00d4ff2b3f2bcccc0d0cf2f33333cccccccc",
        33,
    ),
    (
        "rgbmix320x240",
        "caaaeaffca8a7ad7d5157ed5c5056ad7828a6ada80806ad5d51582d53f80952a",
        100,
    ),
    (
        "blocks37x100",
        "ab8ba2a7ab8bd8b95264754a7474aeb7ad9b270654746d5a54f4d8b912645548",
        100,
    ),
    (
        "wide500x20",
        "a265644545cd9989331b433b8e731c6370c3c3c307477e0ff83e00fc1ffcbfa0",
        100,
    ),
];

#[test]
fn hash_and_quality_are_the_references_to_the_bit() {
    for (name, hash, quality) in REFERENCE {
        let found = PerceptualHash::of_full_size(&named_pattern(name));
        assert_eq!(found.hash().to_string(), hash, "{name}");
        assert_eq!(found.quality, quality, "{name}");
    }
}

#[test]
fn all_eight_turns_are_the_references_to_the_bit() {
    let expected = [
        "4873d96f776a9cd96c2a958e78393b64b7e7c1154b6653194ce6344029d358c5",
        "54c215862b86887bdb2bc37321b09a0d148f0e50ebaa7dad7ed4be16eeba2d2c",
        "1d2673c5223e3663396d3f202d6c91cea2a26bb71e23e9b119b29e625c86e26f",
        "0195bf2c7ed322808e7e29d974e520a741daa4fabefdc7062b0110bcb9ef8786",
        "48732290776a62266c2a6a717839c49bb7e72ee24b66ace44ce6cb3729d3a72a",
        "1d268c3a223fc99c397fc0df2d6e6e31e2ba94481e33164e19b3619dfca61d90",
        "54c0ea792b867795db2b3c8c21b065f2148bf1afeba892527e1045e9ecaad2d3",
        "019540537ed1dd2e8e7e962674e5cf5841da5b05befd20582b01eb43b1ef5871",
    ];
    let found = PerceptualHash::of_full_size(&noise(300, 200));
    for ((turn, hash), expected) in Turn::ALL.into_iter().zip(found.turned).zip(expected) {
        assert_eq!(hash.to_string(), expected, "{turn}");
    }
}

/// A smooth picture without symmetry, as photographs are at the size of the hash.
pub(crate) fn scene(width: u32, height: u32) -> Pixels {
    let waves = [
        (1.3, 0.7, 0.4, 45.0),
        (-2.1, 3.4, 1.9, 30.0),
        (4.7, 2.3, 0.2, 18.0),
        (-5.1, -6.2, 2.5, 14.0),
        (9.3, 1.1, 1.0, 9.0),
        (0.6, -8.8, 3.0, 8.0),
    ];
    pattern(width, height, |x, y| {
        let (u, v) = (
            f64::from(x) / f64::from(width),
            f64::from(y) / f64::from(height),
        );
        let light: f64 = waves
            .iter()
            .map(|(a, b, phase, height)| height * ((a * u + b * v) * 6.2 + phase).sin())
            .sum();
        [0.8, 1.0, 0.9].map(|share| (126.0 + light * share) as u32)
    })
}

#[test]
fn a_turned_picture_matches_by_the_turn_that_leads_to_it() {
    let picture = scene(512, 512);
    let (width, height) = (picture.width_px(), picture.height_px());
    let found = PerceptualHash::of(&picture);
    assert!(found.is_reliable(), "quality {}", found.quality);
    let at = |x: u32, y: u32| -> [u8; 3] {
        let start = ((y * width + x) * 3) as usize;
        *picture.as_rgb()[start..].first_chunk().unwrap()
    };
    type From = fn(u32, u32, u32) -> (u32, u32);
    // Where the pixel at (x, y) of the turned picture comes from, `last` being the last row and column.
    let turns: [(Turn, From); 8] = [
        (Turn::Original, |x, y, _| (x, y)),
        (Turn::Rotate90, |x, y, last| (last - y, x)),
        (Turn::Rotate180, |x, y, last| (last - x, last - y)),
        (Turn::Rotate270, |x, y, last| (y, last - x)),
        (Turn::FlipX, |x, y, last| (x, last - y)),
        (Turn::FlipY, |x, y, last| (last - x, y)),
        (Turn::FlipPlus1, |x, y, _| (y, x)),
        (Turn::FlipMinus1, |x, y, last| (last - y, last - x)),
    ];
    for (turn, from) in turns {
        let rgb = (0..height)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .flat_map(|(x, y)| {
                let (x, y) = from(x, y, width - 1);
                at(x, y)
            })
            .collect();
        let turned = PerceptualHash::of(&Pixels::new(width, height, rgb).unwrap());
        let (matched, distance) = found.matches(turned.hash()).unwrap();
        assert_eq!(matched, turn);
        // The box filter reaches further to one side than to the other, so that a turned picture is not blurred quite alike.
        assert!(distance <= DISTANCE_MAX, "{turn} differs by {distance}");
    }
}

#[test]
fn scaled_copies_stay_near_and_other_pictures_do_not() {
    let large = PerceptualHash::of(&scene(1600, 1200));
    for (width, height) in [(800, 600), (400, 300), (160, 120)] {
        let small = PerceptualHash::of(&scene(width, height));
        let distance = large.hash().distance(small.hash());
        assert!(distance <= DISTANCE_MAX, "{width}×{height}: {distance}");
    }
    let other = PerceptualHash::of(&noise(300, 200));
    assert!(large.hash().distance(other.hash()) > 90);
    assert_eq!(large.matches(other.hash()), None);
}

#[test]
fn distance_and_quality_have_sharp_limits() {
    let picture = PerceptualHash::of(&noise(300, 200));
    let flipped = |n_bits: usize| {
        let mut bytes = picture.hash().to_bytes();
        for bit in 0..n_bits {
            bytes[bit * 5 % 32] ^= 1 << (bit / 32);
        }
        PdqHash::from_bytes(bytes)
    };
    for n_bits in [0, 1, 31] {
        assert_eq!(
            picture.matches(flipped(n_bits)),
            Some((Turn::Original, n_bits as u32))
        );
    }
    assert_eq!(picture.matches(flipped(32)), None);
    let of_quality = |quality| PerceptualHash { quality, ..picture };
    assert_eq!(of_quality(49).matches(picture.hash()), None);
    assert!(of_quality(50).matches(picture.hash()).is_some());
    let none = PerceptualHash::of(&named_pattern("tiny4"));
    assert_eq!((none.hash(), none.quality), (PdqHash::ZERO, 0));
    assert_eq!(none.matches(PdqHash::ZERO), None);
    assert_eq!(picture.matches(PdqHash::ZERO), None);
}

#[test]
fn a_hash_reads_back_what_it_writes_and_refuses_anything_else() {
    let text = REFERENCE[0].1;
    let hash: PdqHash = text.parse().unwrap();
    assert_eq!(hash.to_string(), text);
    assert_eq!(text.to_uppercase().parse(), Ok(hash));
    assert_eq!(PdqHash::from_bytes(hash.to_bytes()), hash);
    for wrong in ["", &text[1..], &format!("{text}0"), &text.replace('f', "g")] {
        let error = wrong.parse::<PdqHash>().unwrap_err();
        assert!(
            error.to_string().contains("64 hexadecimal digits"),
            "{error}"
        );
    }
}

#[test]
fn no_size_of_picture_makes_the_hash_panic() {
    for width in [1, 2, 4, 5, 6, 63, 64, 65, 127, 128, 129, 257, 2048] {
        for height in [1, 4, 5, 64, 129, 513] {
            let picture = scene(width, height);
            let full = PerceptualHash::of_full_size(&picture);
            assert!(full.quality <= 100);
            let prepared = PerceptualHash::of(&picture);
            assert_eq!(width.min(height) < 5, full.hash() == PdqHash::ZERO);
            assert!(prepared.quality <= 100);
        }
    }
}

fn any_hash() -> impl Strategy<Value = PdqHash> {
    any::<[u8; 32]>().prop_map(PdqHash::from_bytes)
}

/// Hashes in heaps, as near-duplicates have them: few centres, few bits changed.
fn heaps() -> impl Strategy<Value = (Vec<PdqHash>, PdqHash)> {
    let changes = prop::collection::vec(any::<u8>(), 0..40);
    (
        prop::collection::vec(any_hash(), 1..4),
        prop::collection::vec((any::<prop::sample::Index>(), changes), 1..700),
        prop::collection::vec(any_hash(), 0..50),
    )
        .prop_map(|(centres, members, others)| {
            let mut hashes: Vec<PdqHash> = members
                .into_iter()
                .map(|(centre, changes)| {
                    let mut bytes = centre.get(&centres).to_bytes();
                    for bit in changes {
                        bytes[usize::from(bit / 8)] ^= 1 << (bit % 8);
                    }
                    PdqHash::from_bytes(bytes)
                })
                .collect();
            hashes.extend(others);
            (hashes, centres[0])
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_exactly_what_comparing_with_all_finds(
        (hashes, query) in heaps(),
        distance_max in prop_oneof![0..=31_u32, 15..=16_u32, 30..=70_u32],
        n_first in any::<prop::sample::Index>(),
    ) {
        let mut expected: Vec<Neighbour> = hashes
            .iter()
            .enumerate()
            .map(|(idx, hash)| Neighbour { idx, distance: query.distance(*hash) })
            .filter(|neighbour| neighbour.distance <= distance_max)
            .collect();
        expected.sort_by_key(|neighbour| (neighbour.distance, neighbour.idx));
        let at_once = NearIndex::new(&hashes);
        prop_assert_eq!(at_once.within(query, distance_max), expected.clone());
        // Some at once, the others one by one.
        let n_first = n_first.index(hashes.len());
        let mut grown = NearIndex::new(&hashes[..n_first]);
        for (idx, hash) in hashes.iter().enumerate().skip(n_first) {
            prop_assert_eq!(grown.add(*hash), idx);
        }
        prop_assert_eq!(grown.len(), hashes.len());
        prop_assert_eq!(grown.within(query, distance_max), expected);
    }

    #[test]
    fn distance_is_a_metric(a in any_hash(), b in any_hash(), c in any_hash()) {
        prop_assert_eq!(a.distance(a), 0);
        prop_assert_eq!(a.distance(b), b.distance(a));
        prop_assert!(a.distance(c) <= a.distance(b) + b.distance(c));
    }
}

#[test]
fn an_index_that_grows_past_its_tail_still_finds_everything() {
    let mut index = NearIndex::default();
    assert!(index.is_empty());
    let mut state = 1_u64;
    let mut hashes = Vec::new();
    for _ in 0..20_000 {
        let bytes = [(); 32].map(|()| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        });
        hashes.push(PdqHash::from_bytes(bytes));
        index.add(PdqHash::from_bytes(bytes));
    }
    for (idx, hash) in hashes.iter().enumerate().step_by(997) {
        assert_eq!(
            index.within(*hash, DISTANCE_MAX),
            [Neighbour { idx, distance: 0 }]
        );
    }
}

fn read_json(path: &std::path::Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_shared_vectors_are_met_to_the_bit() {
    let Some(data) = test_data() else { return };
    let mut n_exact = 0;
    for vector in read_json(&data.join("pdq/pdq_vectors.json"))
        .as_array()
        .unwrap()
    {
        let name = vector["name"].as_str().unwrap();
        let found = PerceptualHash::of_full_size(&named_pattern(name));
        assert_eq!(vector["quality"], found.quality, "{name}");
        let distance = |expected: &serde_json::Value, hash: PdqHash| {
            hash.distance(expected.as_str().unwrap().parse().unwrap())
        };
        let mut distances = vec![distance(&vector["hash"], found.hash())];
        if let Some(dihedral) = vector["dihedral"].as_object() {
            for (turn, hash) in Turn::ALL.into_iter().zip(found.turned) {
                distances.push(distance(&dihedral[turn.as_str()], hash));
            }
        }
        let is_exact = distances.iter().all(|&distance| distance == 0);
        println!("{name}: distances {distances:?}");
        n_exact += usize::from(is_exact);
        // The bits of flat, periodic and tiny pictures hang on the last digit of a float.
        assert!(is_exact || vector["stable"] == false, "{name}");
        let file = data.join(format!("pdq/pdq_png/{name}.png"));
        if file.exists() {
            let bytes = std::fs::read(file).unwrap();
            let found = image::normalise(&bytes, &ImageLimits::default()).unwrap();
            let found = found.perceptual_hash;
            assert_eq!(vector["quality"], found.quality, "{name}.png");
            assert_eq!(vector["hash"], found.hash().to_string(), "{name}.png");
        }
    }
    println!("{n_exact} of 12 vectors to the bit with all their turns");
    assert!(n_exact >= 9);
}

#[test]
fn the_shared_photographs_are_within_what_ports_are_allowed() {
    let Some(data) = test_data() else { return };
    let mut n_photographs = 0;
    for photograph in read_json(&data.join("pdq/pdq_real_images.json"))
        .as_array()
        .unwrap()
    {
        let Some(local) = photograph["local"].as_str() else {
            continue;
        };
        let file = data.join("pdq").join(local.trim_start_matches("pdq/"));
        let picture = image::normalise(&std::fs::read(file).unwrap(), &ImageLimits::default());
        let pixels = image::decode_normalised(&picture.unwrap().bytes).unwrap();
        let expected = |field: &str| photograph[field].as_str().unwrap().parse().unwrap();
        let full = PerceptualHash::of_full_size(&pixels);
        let prepared = PerceptualHash::of(&pixels);
        let distances = [
            full.hash().distance(expected("full_res")),
            prepared.hash().distance(expected("thumb512")),
            prepared.hash().distance(expected("expected")),
        ];
        println!("{local}: {distances:?}, quality {}", prepared.quality);
        assert!(
            distances.iter().all(|&distance| distance <= 10),
            "{local}: {distances:?}"
        );
        assert_eq!(photograph["full_q"], full.quality);
        n_photographs += 1;
    }
    assert_eq!(n_photographs, 8);
}

#[test]
fn the_shared_edits_match_and_turned_copies_match_by_a_turn() {
    let Some(data) = test_data() else { return };
    let hash = |file: &str| {
        let bytes = std::fs::read(data.join("pdq").join(file)).unwrap();
        image::normalise(&bytes, &ImageLimits::default())
            .unwrap()
            .perceptual_hash
    };
    let original = hash("bridge-mods/aaa-orig.jpg");
    let mut files: Vec<String> = ["bridge-mods", "dihedral"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(data.join("pdq").join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            path.strip_prefix(data.join("pdq"))
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    files.sort();
    assert_eq!(files.len(), 20);
    for file in files {
        let (turn, distance) = original.matches(hash(&file).hash()).unwrap();
        println!("{file}: {turn} at {distance}");
        assert_eq!(
            turn == Turn::Original,
            file.starts_with("bridge-mods") || file.contains("-1-original"),
            "{file}"
        );
    }
}
