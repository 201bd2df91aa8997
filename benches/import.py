#!/usr/bin/env python3
"""Times `agon import` of Parquet with pictures, and the board from the store, beside pyarrow reading the same columns.

    python3 benches/import.py --quick      # 200 MB
    python3 benches/import.py              # 5 GB, kept in target/bench-data

Needs pyarrow, numpy and pillow (benches/requirements.txt) to make the file and to read it. The votes
are synthetic with a fixed seed: columns and nesting of VisionArena-Battle, one picture a battle
(photograph-like noise over gradients, two thirds JPEG and one third PNG, one in four repeated as in
that set), row groups of 500 rows. Every contender is a fresh process on a warm page cache; wall
time, CPU time and peak memory are the operating system's own numbers (wait4).
"""

import argparse
import io
import json
import pathlib
import random
import shutil
import sys

from rank import REPOSITORY, cargo, measure, met, quiet_environment, seconds

SEED = 1
MODELS = 17
ROW_GROUP = 500
REPEATED = 0.24
MEMORY_MAX = 1 << 30
WORDS = "the picture shows a small bird on a wire above the sea while two people look at it from the pier".split()

READER = """
import sys, pyarrow.parquet as pq
rows = 0
for batch in pq.ParquetFile(sys.argv[1]).iter_batches(batch_size=500):
    rows += batch.num_rows
print(rows)
"""


def picture(generator, noise, image_module, numpy) -> tuple[bytes, str]:
    """A picture between 0.3 and 1.6 megapixels, as large in bytes as photographs are: a piece of the noise over gradients."""
    width, height = (int(generator.integers(560, 1280)) for _ in range(2))
    top, left = (int(generator.integers(0, 2000 - side)) for side in (height, width))
    ramp = numpy.linspace(0, 200, width, dtype="float32")[None, :, None] * generator.random(3, dtype="float32")
    pixels = numpy.clip(ramp + noise[top : top + height, left : left + width], 0, 255).astype("uint8")
    buffer = io.BytesIO()
    if generator.random() < 1 / 3:
        # Screenshots and drawings: few colours, which PNG packs well.
        pixels = numpy.repeat(numpy.repeat(pixels[::8, ::8] // 64 * 64, 8, axis=0), 8, axis=1)
        image_module.fromarray(pixels).save(buffer, "PNG", compress_level=3)
        return buffer.getvalue(), "png"
    image_module.fromarray(pixels).save(buffer, "JPEG", quality=88)
    return buffer.getvalue(), "jpg"


def answer(words: random.Random, n: int) -> str:
    text = " ".join(words.choices(WORDS, k=n))
    return f"# {text[:20]}\n\n- {text[:60]}\n- **{text[60:90]}**\n\n{text}"


def make(file: pathlib.Path, bytes_wanted: int) -> None:
    import numpy
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    generator = numpy.random.default_rng(SEED)
    words = random.Random(SEED)
    noise = generator.normal(28, 14, (2000, 2000, 3)).astype("float32")
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    conversation = pa.list_(pa.list_(message))
    schema = pa.schema([
        ("judge", pa.string()), ("winner", pa.string()), ("num_turns", pa.int64()), ("language", pa.string()),
        ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))), ("question_id", pa.string()),
        ("model_a", pa.string()), ("model_b", pa.string()), ("conversation_a", conversation),
        ("conversation_b", conversation), ("tstamp", pa.float64()),
    ])
    strengths = [words.gauss(0, 0.6) for _ in range(MODELS)]
    pictures: list[tuple[bytes, str]] = []
    unfinished = file.with_name(f"{file.name}.part")
    n_rows = 0
    with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        while unfinished.stat().st_size < bytes_wanted:
            rows = []
            for _ in range(ROW_GROUP):
                if pictures and words.random() < REPEATED:
                    shown = words.choice(pictures)
                else:
                    shown = picture(generator, noise, Image, numpy)
                    # Enough to repeat from, not all of them in memory.
                    pictures = [*pictures[-299:], shown]
                a, b = words.sample(range(MODELS), 2)
                share = 1 / (1 + 2.718281828 ** (strengths[b] - strengths[a]))
                is_tie = words.random() < 1.5 * share * (1 - share)
                winner = words.choice(["tie", "tie (bothbad)"]) if is_tie else "model_a" if words.random() < share else "model_b"
                prompt = f"{n_rows}: {' '.join(words.choices(WORDS, k=words.randint(4, 60)))}"
                side = lambda: [[{"role": "user", "content": prompt}, {"role": "assistant", "content": answer(words, words.randint(20, 500))}]]
                rows.append({
                    "judge": f"{words.randrange(1 << 40):032x}", "winner": winner, "num_turns": 1, "language": "English",
                    "images": [{"bytes": shown[0], "path": f"{n_rows}.{shown[1]}"}], "question_id": f"{n_rows:032x}",
                    "model_a": f"model-{a:02}", "model_b": f"model-{b:02}", "conversation_a": side(), "conversation_b": side(),
                    "tstamp": 1.7e9 + n_rows * 60.5,
                })
                n_rows += 1
            writer.write_table(pa.Table.from_pylist(rows, schema=schema), row_group_size=ROW_GROUP)
            print(f"  {unfinished.stat().st_size / 1e9:.2f} GB, {n_rows:,} rows", file=sys.stderr, flush=True)
    unfinished.rename(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 MB instead of 5 GB")
    parser.add_argument("--bytes", type=int, metavar="N", help="another size of the file")
    parser.add_argument("--agon", type=pathlib.Path, metavar="FILE", help="a binary to measure (default: builds target/release/agon)")
    parser.add_argument("--data", type=pathlib.Path, default=REPOSITORY / "target/bench-data", metavar="FOLDER", help="where the file is kept between runs")
    arguments = parser.parse_args()
    size = arguments.bytes or (200_000_000 if arguments.quick else 5_000_000_000)
    arguments.data.mkdir(parents=True, exist_ok=True)
    file = arguments.data / f"import-{size}.parquet"
    if not file.is_file():
        make(file, size)
    agon = arguments.agon
    if agon is None:
        cargo("build", "--release", "--package", "agon")
        agon = REPOSITORY / "target/release/agon"

    environment = quiet_environment()
    store = arguments.data / "import-store"
    reader = [sys.executable, "-c", READER, str(file)]
    data = ["--data-dir", str(store), "--json"]
    measure(reader, environment)
    cases = [
        ("pyarrow reads all columns", reader),
        ("agon import", [str(agon), "import", str(file), *data]),
        ("pyarrow once more", reader),
        ("agon import again, every battle a second copy", [str(agon), "import", str(file), *data]),
        ("agon import --clean agon-1, pictures known", [str(agon), "import", str(file), "--source", "cleaned", "--clean", "agon-1", *data]),
        ("agon rank --store imported", [str(agon), "rank", "--store", "imported", "--source", "import", *data]),
        ("agon rank --store imported --style-control", [str(agon), "rank", "--store", "imported", "--source", "import", "--style-control", *data]),
        ("agon rank of the file", [str(agon), "rank", str(file), "--json"]),
    ]
    n_bytes = file.stat().st_size
    print(f"\n### {n_bytes / 1e9:.2f} GB of Parquet with pictures\n")
    print("| | wall | CPU | MB/s | peak memory |")
    print("|---|---|---|---|---|")
    runs = {}
    shutil.rmtree(store, ignore_errors=True)
    try:
        for name, command in cases:
            run = runs[name] = measure(command, environment)
            print(f"| {name} | {seconds(run.wall)} | {seconds(run.cpu)} | {n_bytes / run.wall / 1e6:.0f} | {run.peak / 1e6:.0f} MB |", flush=True)
    finally:
        shutil.rmtree(store, ignore_errors=True)
    imported = json.loads(runs["agon import"].output)
    boards = [json.loads(runs[name].output)["leaderboards"] for name in ("agon rank --store imported", "agon rank of the file")]
    print(f"\n- {imported['kept']:,} of {imported['rows']:,} rows and {imported['images']:,} pictures are kept")
    print(f"- The board of the store is that of the file: {'yes' if boards[0] == boards[1] else '**no**'}")
    peak = max(run.peak for name, run in runs.items() if name.startswith("agon"))
    print(f"- Goal ≤ {MEMORY_MAX / 1e6:,.0f} MB of memory: {peak / 1e6:,.0f} MB, {met(peak <= MEMORY_MAX)}")
    readings = [runs[name] for name in ("pyarrow reads all columns", "pyarrow once more")]
    floor = sum(run.wall for run in readings) / len(readings)
    floor_cpu = sum(run.cpu for run in readings) / len(readings)
    for name in ("agon import", "agon import again, every battle a second copy"):
        run = runs[name]
        print(f"- Goal ≤ 2 × of pyarrow's reading before and after, {name}: {run.wall / floor:.2f} × the time, {run.cpu / floor_cpu:.2f} × the CPU time, {met(run.wall <= 2 * floor)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
