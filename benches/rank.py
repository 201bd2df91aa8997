#!/usr/bin/env python3
"""Times `agon rank` from a file to a leaderboard with intervals, beside the peers, in one run.

    benches/install-peers              # once; without it only Agon is measured
    python3 benches/rank.py            # 30,000 battles x 19 models and 1,000,000 x 100
    python3 benches/rank.py --quick    # 30,000 only

The votes are synthetic, written by the generator of crates/agon-dataset with fixed seeds, so that
the true ratings are known. Every contender is a fresh process that reads the same Parquet file; one
round warms up, then the rounds take turns (A B C A B C …), so that a busy machine hurts all alike.
Wall time, user plus system CPU time and peak memory are the operating system's own numbers
(wait4); each figure is the median of the rounds. Standard library only.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SIZES = {"30k": (30_000, 19), "1m": (1_000_000, 100)}
SEED = 1
# A contender whose first run takes longer than this is not run again: its figure is that one run.
LONG_SECONDS = 30.0


@dataclasses.dataclass
class Run:
    wall: float
    cpu: float
    peak: int
    output: bytes


@dataclasses.dataclass
class Contender:
    name: str
    what: str
    command: list[str]
    runs: list[Run] = dataclasses.field(default_factory=list)
    failure: str = ""


def measure(command: list[str], environment: dict[str, str]) -> Run:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            lines = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise RuntimeError(f"exit code {process.returncode}: {lines[-1]}")
        # Linux counts in KiB, macOS in bytes.
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return Run(wall, usage.ru_utime + usage.ru_stime, peak, output.read())


def floor() -> int:
    """A child's peak starts at what its parent had when it was made: nothing smaller can be measured."""
    return measure(["true"], dict(os.environ)).peak


def ratings(contender: Contender) -> dict[str, list[float | None]]:
    found = json.loads(contender.runs[-1].output)
    if contender.name == "agon":
        (board,) = [board for board in found["leaderboards"] if board["category"] == "overall"]
        return {row["model"]: [row["rating"], row["rating_lower"], row["rating_upper"]] for row in board["models"] if row["status"] == "rated"}
    return found


def centred(board: dict[str, list[float | None]]) -> dict[str, float]:
    mean = statistics.fmean(row[0] for row in board.values())
    return {model: row[0] - mean for model, row in board.items()}


def agreement(board: dict, reference: dict) -> str:
    if board.keys() != reference.keys():
        return f"{len(board.keys() ^ reference.keys())} models differ"
    mine, exact = centred(board), centred(reference)
    return f"{max(abs(mine[model] - exact[model]) for model in mine):.1e}"


def interval_agreement(board: dict, reference: dict) -> str:
    """Largest relative difference of the intervals' widths."""
    if board.keys() != reference.keys() or any(row[1] is None for row in board.values()):
        return "–"
    widths = [(row[2] - row[1]) / (reference[model][2] - reference[model][1]) - 1 for model, row in board.items()]
    return f"{max(map(abs, widths)):.1e}"


def truth_correlation(board: dict, truth: dict[str, float] | None) -> str:
    if truth is None or board.keys() != truth.keys():
        return "–"
    return f"{statistics.correlation([board[model][0] for model in truth], list(truth.values())):.4f}"


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def bench(label: str, file: pathlib.Path, truth: dict[str, float] | None, contenders: list[Contender], rounds: int) -> None:
    # A forced kernel of OpenBLAS would slow the peers' linear algebra down.
    environment = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    smallest = floor()
    for number in range(rounds + 1):
        for contender in contenders:
            if contender.failure or (number > 0 and contender.runs and contender.runs[0].wall > LONG_SECONDS):
                continue
            try:
                run = measure([*contender.command, str(file)], environment)
            except (OSError, RuntimeError) as error:
                contender.failure = str(error)
                continue
            if number == 1:
                # The warm-up round is over; it does not count.
                contender.runs.clear()
            contender.runs.append(run)
            print(f"  {label} round {number} {contender.name:<11} {seconds(run.wall)}", file=sys.stderr, flush=True)

    measured = [contender for contender in contenders if contender.runs and not contender.failure]
    agon = next((contender for contender in measured if contender.name == "agon"), None)
    reference = next((ratings(contender) for contender in measured if contender.name == "numpy"), None)
    print(f"\n### {label}: {file.stat().st_size / 1e6:.1f} MB of Parquet\n")
    print("| | wall | CPU | peak memory | wall / Agon | CPU / Agon | largest Δ rating | largest Δ interval | r with truth | runs |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for contender in contenders:
        if contender not in measured:
            print(f"| {contender.what} | not measured: {contender.failure} |||||||||")
            continue
        wall, cpu, peak = (statistics.median(getattr(run, field) for run in contender.runs) for field in ("wall", "cpu", "peak"))
        ratios = ["–", "–"]
        if agon is not None:
            ratios = [f"{own / statistics.median(getattr(run, field) for run in agon.runs):.1f}" for own, field in ((wall, "wall"), (cpu, "cpu"))]
        board = ratings(contender)
        memory = f"≤ {smallest / 1e6:.0f} MB" if peak <= smallest * 1.02 else f"{peak / 1e6:.0f} MB"
        deltas = ["–", "–"] if reference is None else [agreement(board, reference), interval_agreement(board, reference)]
        cells = [contender.what, seconds(wall), seconds(cpu), memory, *ratios, *deltas, truth_correlation(board, truth), str(len(contender.runs))]
        print("| " + " | ".join(cells) + " |")
    print(
        "\nΔ rating: Elo, against the exact fit of the numpy reference, both centred. Δ interval: relative, of the widths. "
        "r with truth: correlation with the generator's ratings.\n",
        flush=True,
    )


def cargo(*arguments: str) -> None:
    subprocess.run(["cargo", *arguments], cwd=REPOSITORY, check=True)


def read_truth(file: pathlib.Path) -> dict[str, float] | None:
    """The generator writes the true ratings beside the votes."""
    path = file.with_name(f"{file.name}.truth.json")
    if not path.is_file():
        return None
    found = json.loads(path.read_text())
    return {row["name"]: row["rating"] for row in found["models"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="30,000 battles only")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="measured runs of each contender after the warm-up (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="contenders to run: agon numpy arena-rank evalica choix fastchat")
    parser.add_argument("--agon", type=pathlib.Path, metavar="FILE", help="a binary to measure (default: builds target/release/agon)")
    parser.add_argument("--data", type=pathlib.Path, default=REPOSITORY / "target/bench-data", metavar="FOLDER", help="where the votes are kept between runs")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")

    binary = arguments.agon
    if binary is None:
        cargo("build", "--release", "--package", "agon")
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
        binary = REPOSITORY / target / "release/agon"
    arguments.data.mkdir(parents=True, exist_ok=True)
    files = {}
    for name in ["30k"] if arguments.quick else list(SIZES):
        rows, models = SIZES[name]
        files[name] = arguments.data / f"battles-{rows}-{models}-{SEED}.parquet"
        if not files[name].is_file():
            cargo(
                *("run", "--release", "--package", "agon-dataset", "--example", "generate_battles", "--"),
                *("--rows", str(rows), "--models", str(models), "--seed", str(SEED), "--format", "parquet", "-o", str(files[name])),
            )

    python = REPOSITORY / ".venv-bench/bin/python"
    peers = [str(python), str(REPOSITORY / "benches/peers.py")]
    what = {
        "agon": ("Agon", [str(binary), "rank", "--json"]),
        "numpy": ("numpy Newton + sandwich (reference)", [*peers, "numpy"]),
        "arena-rank": ("arena-rank 0.1.1 + interval", [*peers, "arena-rank"]),
        "evalica": ("evalica 0.4.2, no interval", [*peers, "evalica"]),
        "choix": ("choix 0.4.1 I-LSR dense, no interval", [*peers, "choix"]),
        "fastchat": ("FastChat 0.2.36, no interval", [*peers, "fastchat"]),
    }
    wanted = arguments.only or list(what)
    if unknown := set(wanted) - set(what):
        parser.error(f"unknown contenders {sorted(unknown)}; known are {list(what)}")
    if not python.exists():
        print("The peers are not installed (benches/install-peers): only Agon is measured.", file=sys.stderr)
        wanted = [name for name in wanted if name == "agon"]

    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start; median of {arguments.rounds} fresh processes, interleaved.")
    for name, file in files.items():
        rows, models = SIZES[name]
        contenders = [Contender(contender, *what[contender]) for contender in wanted]
        bench(f"{rows:,} battles × {models} models", file, read_truth(file), contenders, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
