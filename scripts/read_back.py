#!/usr/bin/env python3
"""Opens a release with `datasets`, `pyarrow` and `duckdb`, and checks that each reads what was promised.

    .venv/bin/python scripts/read_back.py FOLDER     prints a JSON summary
    .venv/bin/python scripts/read_back.py --self-test

`agon release` is tested against readers that are not ours: the 13 columns of VisionArena-Battle in
order, their types and nesting, pictures that decode, the four spellings of a winner, row counts that
agree in all three readers and with the dataset card. Nothing is fetched: the readers are told that
they are offline. Needs scripts/requirements.txt.

Exit codes: 0 the release reads back; 1 it does not, and why is on standard error.
"""

import argparse
import collections
import contextlib
import importlib.metadata
import io
import json
import os
import pathlib
import sys
import tempfile

WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
COLUMNS = (
    "judge",
    "winner",
    "num_turns",
    "language",
    "categories",
    "images",
    "question_id",
    "model_a",
    "model_b",
    "conversation_a",
    "conversation_b",
    "tstamp",
    "conv_metadata",
)
# Columns that no row may leave empty; `language` and `categories` are filled by detectors, which may be absent.
REQUIRED = ("judge", "winner", "num_turns", "images", "question_id", "model_a", "model_b", "conversation_a", "conversation_b", "tstamp", "conv_metadata")
CATEGORIES = ("captioning", "code", "creative_writing", "diagram", "entity_recognition", "homework", "humor", "is_code", "ocr", "refusal")
COUNTS = ("sum_assistant_a_tokens", "sum_assistant_b_tokens", "context_a_tokens", "context_b_tokens", "sum_user_tokens", "turns")
NESTED_COUNTS = {
    "header_count": ("h1", "h2", "h3", "h4", "h5", "h6"),
    "list_count": ("ordered", "unordered"),
    "bold_count": ("**", "__"),
}


class Mismatch(Exception):
    """The release is not what its schema or its card says."""


def require(condition: object, message: str) -> None:
    if not condition:
        raise Mismatch(message)


# Types


def check_types(schema, where: str) -> str:
    """Checks the Arrow types of all 13 columns; returns the nesting of the conversations, `turns` or `flat`."""
    import pyarrow.types as is_

    def text(kind) -> bool:
        return is_.is_string(kind) or is_.is_large_string(kind)

    def a_list(kind) -> bool:
        return is_.is_list(kind) or is_.is_large_list(kind)

    def fields(kind) -> list[str]:
        return [kind.field(i).name for i in range(kind.num_fields)]

    def check(name: str, holds: bool, expected: str) -> None:
        require(holds, f"{where}: column `{name}` is {schema.field(name).type}, expected {expected}")

    require(tuple(schema.names) == COLUMNS, f"{where}: the columns are {schema.names}, expected {list(COLUMNS)}")
    for name in ("judge", "winner", "language", "question_id", "model_a", "model_b"):
        check(name, text(schema.field(name).type), "string")
    check("num_turns", is_.is_int64(schema.field("num_turns").type), "int64")
    check("tstamp", is_.is_float64(schema.field("tstamp").type), "double")

    categories = schema.field("categories").type
    check("categories", is_.is_struct(categories) and tuple(fields(categories)) == CATEGORIES, f"a struct of {list(CATEGORIES)}")
    check("categories", all(is_.is_boolean(categories.field(name).type) for name in CATEGORIES), "a struct of booleans")

    images = schema.field("images").type
    check("images", a_list(images) and is_.is_struct(images.value_type) and fields(images.value_type) == ["bytes", "path"], "a list of {bytes, path}")
    picture = images.value_type
    check("images", (is_.is_binary(picture.field("bytes").type) or is_.is_large_binary(picture.field("bytes").type)) and text(picture.field("path").type), "a list of {bytes: binary, path: string}")

    nesting = set()
    for name in ("conversation_a", "conversation_b"):
        kind = schema.field(name).type
        check(name, a_list(kind), "a list")
        turns = a_list(kind.value_type)
        nesting.add("turns" if turns else "flat")
        message = kind.value_type.value_type if turns else kind.value_type
        check(name, is_.is_struct(message) and sorted(fields(message)) == ["content", "role"], "messages of {role, content}")
        check(name, text(message.field("role").type) and text(message.field("content").type), "messages of strings")
    require(len(nesting) == 1, f"{where}: the two conversations are nested differently")

    metadata = schema.field("conv_metadata").type
    check("conv_metadata", is_.is_struct(metadata), "a struct")
    leaves = set(COUNTS) | {f"{name}_{side}" for name in NESTED_COUNTS for side in "ab"}
    check("conv_metadata", set(fields(metadata)) == leaves, f"a struct of {sorted(leaves)}")
    for name in COUNTS:
        check("conv_metadata", is_.is_integer(metadata.field(name).type), f"an integer in `{name}`")
    for name, parts in NESTED_COUNTS.items():
        for side in "ab":
            leaf = metadata.field(f"{name}_{side}").type
            check("conv_metadata", is_.is_struct(leaf) and tuple(fields(leaf)) == parts, f"{list(parts)} in `{name}_{side}`")
            check("conv_metadata", all(is_.is_integer(leaf.field(part).type) for part in parts), f"integers in `{name}_{side}`")
    return nesting.pop()


# Rows


def check_conversation(row: dict, nesting: str) -> None:
    """User and assistant alternate, as many turns as `num_turns` says, and both sides were asked the same."""
    asked = []
    for name in ("conversation_a", "conversation_b"):
        which = f"row `{row['question_id']}`, `{name}`"
        messages = row[name]
        if nesting == "turns":
            require(len(messages) == row["num_turns"], f"{which}: {len(messages)} turns, `num_turns` says {row['num_turns']}")
            messages = [message for turn in messages for message in turn]
        require(len(messages) == 2 * row["num_turns"], f"{which}: {len(messages)} messages in {row['num_turns']} turns, expected two for each")
        roles = [message["role"] for message in messages]
        require(roles == ["user", "assistant"] * row["num_turns"], f"{which}: the roles are {roles}")
        require(all(isinstance(message["content"], str) for message in messages), f"{which}: a message has no text")
        asked.append([message["content"] for message in messages if message["role"] == "user"])
    require(asked[0] == asked[1], f"row `{row['question_id']}`: the two sides were asked different things")


def read_pyarrow(files: list[pathlib.Path]) -> tuple[list[dict], str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [pq.read_table(file) for file in files]
    nesting = {check_types(table.schema, str(file)) for table, file in zip(tables, files, strict=True)}
    require(len(nesting) == 1, "the files nest conversations differently")
    rows = pa.concat_tables(tables).to_pylist()
    require(rows, "the release has no rows")
    for row in rows:
        for name in REQUIRED:
            require(row[name] is not None, f"row `{row['question_id']}`: `{name}` is null")
        require(row["winner"] in WINNERS, f"row `{row['question_id']}`: winner `{row['winner']}`, expected one of {list(WINNERS)}")
        require(row["model_a"] and row["model_b"] and row["model_a"] != row["model_b"], f"row `{row['question_id']}`: models `{row['model_a']}` and `{row['model_b']}`")
        require(row["conv_metadata"]["turns"] == row["num_turns"], f"row `{row['question_id']}`: `conv_metadata.turns` is not `num_turns`")
        require(len(row["images"]) <= 1, f"row `{row['question_id']}`: {len(row['images'])} images, expected at most one")
        require(row["tstamp"] > 0, f"row `{row['question_id']}`: `tstamp` is {row['tstamp']}")
    names = [row["question_id"] for row in rows]
    require(len(set(names)) == len(names), "a `question_id` is there twice")
    return rows, nesting.pop()


def read_duckdb(files: list[pathlib.Path]) -> dict:
    import duckdb

    connection = duckdb.connect()
    source = "read_parquet([" + ", ".join("'" + str(file).replace("'", "''") + "'" for file in files) + "])"
    described = [name for name, *_ in connection.execute(f"describe select * from {source}").fetchall()]
    require(tuple(described) == COLUMNS, f"duckdb: the columns are {described}")
    winners = dict(connection.execute(f"select winner, count(*) from {source} group by winner").fetchall())
    names = [name for (name,) in connection.execute(f"select question_id from {source}").fetchall()]
    # Paths as an analyst writes them: into the picture, the struct with odd names, the last message.
    deep = f'select count(*), sum(len(images)), sum(conv_metadata.bold_count_a."**"), count(model_a), count(conversation_a[1]) from {source}'
    rows, images, bold, models, conversations = connection.execute(deep).fetchone()
    require(models == rows and conversations == rows, f"duckdb: {rows} rows, {models} with `model_a`, {conversations} with a first message")
    return {"rows": rows, "images": int(images or 0), "bold": int(bold or 0), "winners": winners, "names": names}


def read_datasets(folder: pathlib.Path, cache: str):
    import datasets

    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(folder), cache_dir=cache)
    require(list(loaded) == ["train"], f"datasets: the splits are {list(loaded)}, expected `train`")
    split = loaded["train"]
    require(tuple(split.column_names) == COLUMNS, f"datasets: the columns are {split.column_names}")
    feature = split.features["images"]
    require(
        isinstance(getattr(feature, "feature", None), datasets.Image),
        f"datasets: `images` is {feature}, expected a list of Image: the card's `dataset_info` says what it is",
    )
    return split


# The card


def read_card(folder: pathlib.Path) -> dict:
    import yaml

    path = folder / "README.md"
    require(path.is_file(), f"`{path}` is missing")
    text = path.read_text(encoding="utf-8")
    require(text.startswith("---\n") and "\n---\n" in text[4:], f"`{path}` has no front matter between `---` lines")
    head, body = text[4:].split("\n---\n", 1)
    try:
        card = yaml.safe_load(head)
    except yaml.YAMLError as error:
        raise Mismatch(f"the front matter of `{path}` is not YAML: {error}") from error
    require(isinstance(card, dict), f"the front matter of `{path}` is not a mapping")
    require(body.strip(), f"`{path}` has a front matter and nothing else")
    return card


def check_card(card: dict, rows: int, files: list[pathlib.Path]) -> None:
    information = card.get("dataset_info")
    require(isinstance(information, dict), "the card has no `dataset_info`")
    named = [feature["name"] for feature in information.get("features", [])]
    require(tuple(named) == COLUMNS, f"the card's features are {named}, expected {list(COLUMNS)}")
    splits = information.get("splits") or []
    require([split.get("name") for split in splits] == ["train"], f"the card's splits are {splits}, expected one, `train`")
    # Without `num_bytes`, `datasets` ignores the whole `dataset_info`, and with it that `images` are images.
    require(isinstance(splits[0].get("num_bytes"), int), f"the card's split has no `num_bytes`: {splits[0]}")
    require(splits[0].get("num_examples") == rows, f"the card says {splits[0].get('num_examples')} examples, the files have {rows}")
    if "download_size" in information:
        size = sum(file.stat().st_size for file in files)
        require(information["download_size"] == size, f"the card says `download_size` {information['download_size']}, the files have {size} bytes")


# All of it


def read_back(folder: pathlib.Path) -> dict:
    files = sorted(folder.glob("data/*.parquet")) or sorted(folder.glob("*.parquet"))
    require(files, f"`{folder}` has no Parquet file, neither in `data` nor itself")
    rows, nesting = read_pyarrow(files)
    for row in rows:
        check_conversation(row, nesting)
    card = read_card(folder)
    check_card(card, len(rows), files)

    queried = read_duckdb(files)
    names = [row["question_id"] for row in rows]
    winners = collections.Counter(row["winner"] for row in rows)
    require(queried["names"] == names, f"duckdb reads {queried['rows']} rows and pyarrow {len(rows)}, or in another order")
    require(queried["winners"] == winners, f"duckdb counts the winners {queried['winners']}, pyarrow {dict(winners)}")
    images = sum(len(row["images"]) for row in rows)
    require(queried["images"] == images, f"duckdb finds {queried['images']} images, pyarrow {images}")
    bold = sum(row["conv_metadata"]["bold_count_a"]["**"] for row in rows)
    require(queried["bold"] == bold, f"duckdb sums {queried['bold']} bold spans, pyarrow {bold}")

    sizes: collections.Counter = collections.Counter()
    formats: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="agon-read-back-") as cache:
        split = read_datasets(folder, cache)
        require(split.num_rows == len(rows), f"datasets reads {split.num_rows} rows, pyarrow {len(rows)}")
        for row, decoded in zip(rows, split, strict=True):
            which = f"row `{row['question_id']}`"
            for name in COLUMNS:
                if name != "images":
                    require(decoded[name] == row[name], f"{which}: datasets reads `{name}` as {decoded[name]!r}, pyarrow as {row[name]!r}")
            require(len(decoded["images"]) == len(row["images"]), f"{which}: datasets reads {len(decoded['images'])} images")
            for picture in decoded["images"]:
                picture.load()
                require(picture.width > 0 and picture.height > 0, f"{which}: the picture is empty")
                require(not picture.getexif(), f"{which}: the picture carries EXIF metadata")
                sizes[f"{picture.width}x{picture.height}"] += 1
                formats[picture.format or "unknown"] += 1
        del split
    return {
        "rows": len(rows),
        "files": [str(file.relative_to(folder)) for file in files],
        "columns": list(COLUMNS),
        "conversation_nesting": nesting,
        "winners": {winner: winners.get(winner, 0) for winner in WINNERS},
        "models": sorted({row[name] for row in rows for name in ("model_a", "model_b")}),
        "judges": len({row["judge"] for row in rows}),
        "turns": sum(row["num_turns"] for row in rows),
        "images": images,
        "image_sizes": dict(sorted(sizes.items())),
        "image_formats": dict(sorted(formats.items())),
        "readers": {name: importlib.metadata.version(name) for name in ("datasets", "pyarrow", "duckdb")},
    }


# Self-test


def example_release(folder: pathlib.Path, nesting: str, damage: str) -> None:
    """Writes a release of three battles with pyarrow; `damage` names the one thing that is wrong with it."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    conversation = pa.list_(pa.list_(message) if nesting == "turns" else message)
    counts = [(name, pa.int32()) for name in COUNTS]
    for name, parts in NESTED_COUNTS.items():
        counts += [(f"{name}_{side}", pa.struct([(part, pa.int32()) for part in parts])) for side in "ab"]
    kinds = {
        "num_turns": pa.int32() if damage == "type" else pa.int64(),
        "tstamp": pa.float64(),
        "categories": pa.struct([(name, pa.bool_()) for name in CATEGORIES]),
        "images": pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "conversation_a": conversation,
        "conversation_b": conversation,
        "conv_metadata": pa.struct(counts),
    }

    def talk(side: str, turns: int) -> list:
        said = [[{"role": "user", "content": f"question {i}"}, {"role": "assistant", "content": f"answer {side}{i}"}] for i in range(turns)]
        return said if nesting == "turns" else [message for turn in said for message in turn]

    rows = []
    for i, winner in enumerate(("model_a", "tie", "tie (bothbad)")):
        turns = i + 1
        drawn = io.BytesIO()
        Image.new("RGB", (8 + i, 6), (200, 30 * i, 90)).save(drawn, "PNG")
        picture = [{"bytes": b"not a picture" if damage == "picture" else drawn.getvalue(), "path": None}]
        metadata = {name: 5 for name in COUNTS} | {"turns": turns}
        for name, parts in NESTED_COUNTS.items():
            metadata |= {f"{name}_{side}": dict.fromkeys(parts, i) for side in "ab"}
        rows.append(
            {
                "judge": f"{i:064x}",
                "winner": "bothbad" if damage == "winner" else winner,
                "num_turns": turns + (damage == "turns"),
                # One row as it is when no detector has looked at it, one with a detector that left a label open.
                "language": "English" if i else None,
                "categories": dict.fromkeys(CATEGORIES, None if i == 1 else False) if i else None,
                "images": picture if i != 1 else [],
                "question_id": f"q{i}",
                "model_a": "left",
                "model_b": "right",
                "conversation_a": talk("a", turns),
                "conversation_b": talk("b", turns),
                "tstamp": 1.7e9 + i,
                "conv_metadata": metadata,
            }
        )
    order = sorted(COLUMNS) if damage == "order" else COLUMNS
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in order])
    (folder / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / "data" / "train-00000-of-00001.parquet", compression="zstd")

    import yaml

    typed: dict[str, dict] = {name: {"dtype": "string"} for name in COLUMNS}
    typed["num_turns"] = {"dtype": "int64"}
    typed["tstamp"] = {"dtype": "float64"}
    typed["categories"] = {"struct": [{"name": name, "dtype": "bool"} for name in CATEGORIES]}
    typed["images"] = {"list": "image"}
    for name in ("conversation_a", "conversation_b"):
        # Made twice, or YAML would write an alias, which `datasets` cannot read.
        messages = {"list": [{"name": "role", "dtype": "string"}, {"name": "content", "dtype": "string"}]}
        typed[name] = {"list": messages} if nesting == "turns" else messages
    leaves: list[dict] = [{"name": name, "dtype": "int32"} for name in COUNTS]
    for name, parts in NESTED_COUNTS.items():
        leaves += [{"name": f"{name}_{side}", "struct": [{"name": part, "dtype": "int32"} for part in parts]} for side in "ab"]
    typed["conv_metadata"] = {"struct": leaves}
    card = {
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}],
        "dataset_info": {
            "features": [{"name": name} | typed[name] for name in COLUMNS],
            "splits": [{"name": "train", "num_bytes": 3000, "num_examples": 4 if damage == "card" else 3}],
        },
    }
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n\n# An example\n", encoding="utf-8")


def self_test() -> int:
    """Sound releases in both nestings read back; each damaged one is refused for the right reason."""
    cases = [("turns", "", ""), ("flat", "", "")]
    damages = {
        "order": "the columns are",
        "type": "column `num_turns` is int32",
        "winner": "winner `bothbad`",
        "turns": "`num_turns`",
        "card": "the card says 4 examples",
        "picture": "cannot identify image file",
    }
    cases += [("turns", damage, reason) for damage, reason in damages.items()]
    failed = 0
    for nesting, damage, reason in cases:
        with tempfile.TemporaryDirectory(prefix="agon-read-back-") as temporary:
            folder = pathlib.Path(temporary) / "release"
            example_release(folder, nesting, damage)
            found = ""
            try:
                summary = read_back(folder)
                sound = summary["rows"] == 3 and summary["images"] == 2 and summary["conversation_nesting"] == nesting
                found = "" if sound else f"wrong summary: {summary}"
            except Exception as error:
                found = str(error) or repr(error)
        passed = (reason in found) if reason else not found
        failed += not passed
        print(f"read_back {nesting} {damage or 'sound'}: {'ok' if passed else f'FAILED: {found!r}'}")
    print(f"read_back self-test: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, metavar="FOLDER", help="a folder that `agon release` wrote")
    parser.add_argument("--self-test", action="store_true", help="check this script on releases that it makes itself")
    arguments = parser.parse_args()
    if not arguments.self_test and arguments.folder is None:
        parser.error("FOLDER or --self-test is needed")
    # Before `datasets` is imported, which reads them then. Its cache is a temporary folder.
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    if arguments.self_test:
        return self_test()
    # A reader may print progress or warnings on standard output, which is for the summary alone.
    try:
        with contextlib.redirect_stdout(sys.stderr):
            summary = read_back(arguments.folder)
    except Mismatch as mismatch:
        print(f"read_back: {mismatch}", file=sys.stderr)
        return 1
    except Exception as error:
        print(f"read_back: `{arguments.folder}` cannot be read: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(summary, indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
