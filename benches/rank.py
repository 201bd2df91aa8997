#!/usr/bin/env python3
"""Times `agon rank` from a file to a leaderboard with intervals, beside the peers, in one run.

    benches/install-peers                  # once; without it only Agon is measured
    python3 benches/rank.py                # every case but the large ones
    python3 benches/rank.py --quick        # the cases of 30,000 battles
    python3 benches/rank.py --case 1m-style --only agon numpy-style
    python3 benches/rank.py --large        # 10,000,000 battles, and up to 30,000,000 for linearity

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
SEED = 1
# A contender whose first run takes longer than this is not run again: its figure is that one run.
LONG_SECONDS = 30.0
STYLE = ["--style-control"]
# Columns of a file: what a board needs, and for small files what a real one has besides.
PLAIN_COLUMNS = "judge,winner,num_turns,language,model_a,model_b,tstamp,conv_metadata"
ALL_COLUMNS = f"{PLAIN_COLUMNS},question_id"

NAMES = {
    "agon": "Agon",
    "numpy": "numpy Newton + sandwich (reference)",
    "numpy-style": "numpy Newton, style + sandwich (reference)",
    "numpy-style-bootstrap": "numpy Newton, style, 1,000 full refits (reference)",
    "arena-rank": "arena-rank 0.1.1 + interval",
    "arena-rank-style": "arena-rank 0.1.1 contextual + interval",
    "arena-rank-style-ready": "the same, features ready-made",
    "evalica": "evalica 0.4.2, no interval",
    "choix": "choix 0.4.1 I-LSR dense, no interval",
    "fastchat": "FastChat 0.2.36, no interval",
    "fastchat-2025": "FastChat's fit of April 2025, no interval",
    "fastchat-style": "FastChat's style fit of April 2025, no interval",
    "fastchat-style-bootstrap": "the same, 100 rounds",
    "polars-read": "Polars 2.1.0: reads and counts",
    "polars-read-style": "Polars 2.1.0: reads, counts and sums",
    "duckdb-read": "DuckDB 2.0.1: reads and counts",
    "duckdb-read-style": "DuckDB 2.0.1: reads, counts and sums",
}


@dataclasses.dataclass
class Votes:
    """One file of votes."""

    rows: int
    models: int
    columns: str

    @property
    def file_name(self) -> str:
        tags = "-tags" if "category_tag" in self.columns else ""
        return f"votes-{self.rows}-{self.models}{tags}-{SEED}.parquet"


@dataclasses.dataclass
class Goal:
    """At most `factor` times what the quickest of `against` needs, or at most `seconds`, or at most `megabytes`."""

    against: tuple[str, ...] = ()
    factor: float = 0.0
    seconds: float = 0.0
    megabytes: float = 0.0

    def verdict(self, medians: dict[str, dict[str, float]]) -> str:
        own = medians["agon"]
        if self.seconds:
            return f"≤ {seconds(self.seconds)}: {seconds(own['wall'])}, {met(own['wall'] <= self.seconds)}"
        if self.megabytes:
            return f"≤ {self.megabytes:,.0f} MB of memory: {own['peak'] / 1e6:,.0f} MB, {met(own['peak'] <= self.megabytes * 1e6)}"
        found = {name: medians[name]["wall"] for name in self.against if name in medians}
        if not found:
            return f"≤ {factor(self.factor)} of {' or '.join(self.against)}: not measured"
        name = min(found, key=found.get)
        ratio = own["wall"] / found[name]
        query = ""
        if "query" in medians[name]:
            query = f" ({factor(own['wall'] / medians[name]['query'])} its query alone, without Python's start)"
        return f"≤ {factor(self.factor)} of {name}: {factor(ratio)}, {met(ratio <= self.factor)}{query}"


@dataclasses.dataclass
class Case:
    what: str
    votes: Votes
    options: list[str]
    peers: list[str]
    # Whose answer counts as exact.
    reference: str | None
    goals: list[Goal]
    large: bool = False
    quick: bool = False


SMALL = Votes(30_000, 19, ALL_COLUMNS)
MIDDLE = Votes(1_000_000, 100, ALL_COLUMNS)
LARGE = Votes(10_000_000, 250, PLAIN_COLUMNS)
READERS = ["polars-read", "duckdb-read"]
STYLE_READERS = ["polars-read-style", "duckdb-read-style"]

CASES = {
    "30k": Case(
        "plain",
        SMALL,
        [],
        ["numpy", "arena-rank", "evalica", "choix", "fastchat", "fastchat-2025", *READERS],
        "numpy",
        [Goal(("arena-rank",), 1 / 300), Goal(("fastchat", "fastchat-2025"), 1 / 40), Goal(("evalica",), 1 / 40)],
        quick=True,
    ),
    "30k-style": Case(
        "four style features",
        SMALL,
        STYLE,
        ["numpy-style", "arena-rank-style", "arena-rank-style-ready", "fastchat-style", *STYLE_READERS],
        "numpy-style",
        [Goal(("arena-rank-style", "arena-rank-style-ready"), 1 / 200), Goal(("fastchat-style",), 1 / 40)],
        quick=True,
    ),
    "30k-bootstrap": Case(
        "four style features, 1,000 bootstrap rounds with full refits",
        SMALL,
        [*STYLE, "--ci", "bootstrap", "--bootstrap", "1000"],
        ["numpy-style-bootstrap", "fastchat-style-bootstrap"],
        "numpy-style-bootstrap",
        [Goal(seconds=1.0)],
        quick=True,
    ),
    "1m": Case(
        "plain",
        MIDDLE,
        [],
        ["numpy", "arena-rank", "evalica", "choix", "fastchat", "fastchat-2025", *READERS],
        "numpy",
        [Goal(seconds=0.1)],
    ),
    "1m-style": Case(
        "four style features",
        MIDDLE,
        STYLE,
        ["numpy-style", "arena-rank-style", "arena-rank-style-ready", "fastchat-style", *STYLE_READERS],
        "numpy-style",
        [Goal(seconds=0.4)],
    ),
    "categories": Case(
        "29 categories, each plain and with style control, in one command",
        Votes(2_000_000, 282, f"{PLAIN_COLUMNS},category_tag"),
        ["--by", "category_tag", *STYLE],
        [],
        None,
        [Goal(seconds=10.0)],
    ),
    "10m": Case("plain", LARGE, [], ["numpy", "choix", *READERS], "numpy", [Goal(tuple(READERS), 1.5)], large=True),
    "10m-style": Case(
        "four style features",
        LARGE,
        STYLE,
        ["numpy-style", *STYLE_READERS],
        "numpy-style",
        [Goal(tuple(STYLE_READERS), 3.0), Goal(megabytes=1.5 * 1024**3 / 1e6)],
        large=True,
    ),
}
# The same models at growing sizes: the time per battle must not grow.
LINEAR = [Votes(rows, 100, ALL_COLUMNS if rows == MIDDLE.rows else PLAIN_COLUMNS) for rows in (1_000_000, 3_000_000, 10_000_000, 30_000_000)]


@dataclasses.dataclass
class Run:
    wall: float
    cpu: float
    peak: int
    output: bytes


@dataclasses.dataclass
class Contender:
    name: str
    command: list[str]
    runs: list[Run] = dataclasses.field(default_factory=list)
    failure: str = ""

    def median(self, figure: str) -> float:
        return statistics.median(getattr(run, figure) for run in self.runs)


@dataclasses.dataclass
class Board:
    """Rows of [value, lower, upper], the ends None where there is no interval."""

    models: dict[str, list[float | None]]
    coefficients: dict[str, list[float | None]]


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def factor(value: float) -> str:
    return f"1/{1 / value:.0f}" if value < 0.5 else f"{value:.2f} ×"


def met(reached: bool) -> str:
    return "met" if reached else "**not met**"


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


def quiet_environment() -> dict[str, str]:
    """A forced kernel of OpenBLAS would slow the peers' linear algebra down."""
    return {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}


def floor() -> int:
    """A child's peak starts at what its parent had when it was made: nothing smaller can be measured."""
    return measure(["true"], dict(os.environ)).peak


def agon_boards(output: bytes) -> list[dict]:
    return json.loads(output)["leaderboards"]


def board(contender: Contender, style: bool) -> Board | None:
    """The overall board of a contender; None for a reader."""
    found = json.loads(contender.runs[-1].output)
    if contender.name != "agon":
        return Board(found["models"], found.get("coefficients", {})) if "models" in found else None
    boards = [board for board in found["leaderboards"] if board["category"] == "overall"]
    # Beside a style-controlled board there may be the plain one.
    chosen = [board for board in boards if board.get("style_control", False) == style] or boards
    rated = [row for row in chosen[0]["models"] if row["status"] == "rated"]
    models = {row["model"]: [row["rating"], row["rating_lower"], row["rating_upper"]] for row in rated}
    coefficients = {row["feature"]: [row["coefficient"], row["lower"], row["upper"]] for row in chosen[0].get("style") or []}
    return Board(models, coefficients)


def centred(rows: dict[str, list[float | None]]) -> dict[str, float]:
    mean = statistics.fmean(row[0] for row in rows.values())
    return {model: row[0] - mean for model, row in rows.items()}


def rating_difference(found: Board, exact: Board) -> str:
    if found.models.keys() != exact.models.keys():
        return f"{len(found.models.keys() ^ exact.models.keys())} models differ"
    mine, theirs = centred(found.models), centred(exact.models)
    return f"{max(abs(mine[model] - theirs[model]) for model in mine):.1e}"


def interval_difference(found: Board, exact: Board) -> str:
    """Largest relative difference of the intervals' widths."""
    if found.models.keys() != exact.models.keys() or any(row[1] is None for row in found.models.values()):
        return "–"
    widths = [(row[2] - row[1]) / (exact.models[model][2] - exact.models[model][1]) - 1 for model, row in found.models.items()]
    return f"{max(map(abs, widths)):.1e}"


def coefficient_difference(found: Board, exact: Board) -> str:
    if not found.coefficients or found.coefficients.keys() != exact.coefficients.keys():
        return "–"
    return f"{max(abs(row[0] - exact.coefficients[feature][0]) for feature, row in found.coefficients.items()):.1e}"


def truth_distance(found: Board, truth: dict[str, float]) -> str:
    """Root of the mean squared distance to the true ratings, both centred."""
    if found.models.keys() != truth.keys():
        return "–"
    mine = centred(found.models)
    mean = statistics.fmean(truth.values())
    return f"{statistics.fmean((mine[model] - value + mean) ** 2 for model, value in truth.items()) ** 0.5:.2f}"


def run_rounds(label: str, contenders: list[Contender], file: pathlib.Path, rounds: int) -> None:
    """One round to warm up, then `rounds` in turns."""
    environment = quiet_environment()
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
            print(f"  {label} round {number} {contender.name:<24} {seconds(run.wall)}", file=sys.stderr, flush=True)


def bench(name: str, case: Case, file: pathlib.Path, contenders: list[Contender], rounds: int) -> None:
    smallest = floor()
    run_rounds(name, contenders, file, rounds)
    measured = {contender.name: contender for contender in contenders if contender.runs and not contender.failure}
    medians = {name: {figure: contender.median(figure) for figure in ("wall", "cpu", "peak")} for name, contender in measured.items()}
    for reader in medians.keys() & {*READERS, *STYLE_READERS}:
        medians[reader]["query"] = statistics.median(json.loads(run.output)["seconds"] for run in measured[reader].runs)
    style = "--style-control" in case.options
    exact = board(measured[case.reference], style) if case.reference in measured else None
    truth = json.loads(file.with_name(f"{file.name}.truth.json").read_text())
    true_ratings = {row["name"]: row["rating"] for row in truth["models"]}

    print(f"\n### {name}: {case.votes.rows:,} battles × {case.votes.models} models, {case.what}\n")
    print("| | wall | CPU | peak memory | wall / Agon | CPU / Agon | Δ rating | Δ interval | Δ coefficient | off truth | runs |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for contender in contenders:
        label = NAMES[contender.name]
        if contender.name not in measured:
            print(f"| {label} | not measured: {contender.failure} ||||||||||")
            continue
        own = medians[contender.name]
        ratios = ["–", "–"]
        if "agon" in medians:
            ratios = [f"{own[figure] / medians['agon'][figure]:.1f}" for figure in ("wall", "cpu")]
        memory = f"≤ {smallest / 1e6:.0f} MB" if own["peak"] <= smallest * 1.02 else f"{own['peak'] / 1e6:.0f} MB"
        found = board(contender, style)
        deltas = ["–"] * 3
        if found is not None and exact is not None:
            deltas = [rating_difference(found, exact), interval_difference(found, exact), coefficient_difference(found, exact)]
        distance = "–" if found is None else truth_distance(found, true_ratings)
        cells = [label, seconds(own["wall"]), seconds(own["cpu"]), memory, *ratios, *deltas, distance, str(len(contender.runs))]
        print("| " + " | ".join(cells) + " |")
    if "agon" in measured:
        print()
        for goal in case.goals:
            print(f"- Goal {goal.verdict(medians)}")
        boards = agon_boards(measured["agon"].runs[-1].output)
        if len(boards) > 1:
            print(f"- Boards printed: {len(boards)}")
    print(flush=True)


def linearity(command: list[str], files: list[tuple[Votes, pathlib.Path]], rounds: int) -> None:
    print("\n### Linear in battles, 100 models\n")
    print("| battles | plain: wall | CPU | CPU per million | style control: wall | CPU | CPU per million | peak memory |")
    print("|---|---|---|---|---|---|---|---|")
    for votes, file in files:
        contenders = [Contender("agon", command), Contender("agon", [*command, *STYLE])]
        run_rounds(f"linear {votes.rows:,}", contenders, file, rounds)
        cells = [f"{votes.rows:,}"]
        for contender in contenders:
            if contender.failure:
                cells += [contender.failure, "–", "–"]
            else:
                cpu = contender.median("cpu")
                cells += [seconds(contender.median("wall")), seconds(cpu), seconds(cpu * 1e6 / votes.rows)]
        peaks = [contender.median("peak") for contender in contenders if not contender.failure]
        cells.append(f"{max(peaks) / 1e6:.0f} MB" if peaks else "–")
        print("| " + " | ".join(cells) + " |", flush=True)
    print()


def cargo(*arguments: str) -> None:
    subprocess.run(["cargo", *arguments], cwd=REPOSITORY, check=True)


def votes_file(votes: Votes, folder: pathlib.Path, generator: pathlib.Path | None) -> pathlib.Path:
    """Makes the file unless it is there; it gets its name when it is complete."""
    file = folder / votes.file_name
    if file.is_file():
        return file
    unfinished = file.with_name(f"{file.name}.part")
    options = ["--rows", str(votes.rows), "--models", str(votes.models), "--seed", str(SEED), "--columns", votes.columns, "-o", str(unfinished)]
    if generator is not None:
        subprocess.run([str(generator), *options], check=True)
    else:
        cargo("run", "--release", "--package", "agon-dataset", "--example", "generate_battles", "--", *options)
    unfinished.with_name(f"{unfinished.name}.truth.json").rename(file.with_name(f"{file.name}.truth.json"))
    unfinished.rename(file)
    return file


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", metavar="NAME", choices=[*CASES, "linear"], help=f"cases to run: {' '.join(CASES)} linear")
    parser.add_argument("--quick", action="store_true", help="the cases of 30,000 battles only")
    parser.add_argument("--large", action="store_true", help="10,000,000 battles and linearity too (2 GB of files, 8 GB of memory for the reference)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="measured runs of each contender after the warm-up (default: 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(NAMES), help=f"contenders to run; with --case also ones that the case leaves out: {' '.join(NAMES)}")
    parser.add_argument("--agon", type=pathlib.Path, metavar="FILE", help="a binary to measure (default: builds target/release/agon)")
    parser.add_argument("--generator", type=pathlib.Path, metavar="FILE", help="a built generator (default: cargo run)")
    parser.add_argument("--data", type=pathlib.Path, default=REPOSITORY / "target/bench-data", metavar="FOLDER", help="where the votes are kept between runs")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")

    names = arguments.case
    if names is None:
        names = [name for name, case in CASES.items() if (case.quick or not arguments.quick) and (arguments.large or not case.large)]
        names += ["linear"] if arguments.large else []
    binary = arguments.agon
    if binary is None:
        cargo("build", "--release", "--package", "agon")
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
        binary = REPOSITORY / target / "release/agon"
    arguments.data.mkdir(parents=True, exist_ok=True)
    python = REPOSITORY / ".venv-bench/bin/python"
    if not python.exists():
        print("The peers are not installed (benches/install-peers): only Agon is measured.", file=sys.stderr)

    agon = [str(binary), "rank", "--json"]
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start; median of {arguments.rounds} fresh processes, interleaved.")
    for name in names:
        if name == "linear":
            linearity(agon, [(votes, votes_file(votes, arguments.data, arguments.generator)) for votes in LINEAR], arguments.rounds)
            continue
        case = CASES[name]
        file = votes_file(case.votes, arguments.data, arguments.generator)
        wanted = ["agon", *case.peers]
        if arguments.only:
            # A case that was asked for by name may have contenders that it leaves out by itself.
            wanted = [contender for contender in arguments.only if arguments.case or contender in wanted]
        contenders = []
        for contender in wanted:
            if contender == "agon":
                contenders.append(Contender(contender, [*agon, *case.options]))
            elif python.exists():
                contenders.append(Contender(contender, [str(python), str(REPOSITORY / "benches/peers.py"), contender]))
        bench(name, case, file, contenders, arguments.rounds)
    print(
        "Δ rating: largest, in points, against the exact fit of the reference, both centred. Δ interval: largest relative difference of the widths. "
        "Δ coefficient: largest, per root mean square of a feature. Off truth: root mean squared distance to the generator's ratings, in points, both centred."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
