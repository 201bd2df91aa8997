#!/usr/bin/env python3
"""Opens a screened dataset with `datasets`, `pyarrow` and `duckdb`, and looks for what must not be in it.

    .venv/bin/python scripts/read_back_screened.py FOLDER [NEEDLE...]     prints a JSON summary

The rows and the findings are read by all three, which must agree on columns and counts. Every text and
every byte of every cell is searched for each NEEDLE, and so are the other files of the folder. Nothing
is fetched. Needs scripts/requirements.txt.

Exit codes: 0 it reads back and holds none of them; 1 otherwise, and why is on standard error.
"""

import argparse
import io
import json
import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
TABLES = {"default": "data", "findings": "findings"}


def cells(value):
    """Every text and every run of bytes in a cell."""
    if isinstance(value, str):
        yield value.encode()
    elif isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from cells(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from cells(part)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("needles", nargs="*")
    arguments = parser.parse_args()
    import datasets
    import duckdb
    import PIL.Image
    import pyarrow.parquet

    datasets.disable_progress_bars()
    faults, summary = [], {}
    needles = [needle.encode() for needle in arguments.needles]
    with tempfile.TemporaryDirectory() as cache:
        for name, table in TABLES.items():
            files = sorted(str(path) for path in (arguments.folder / table).glob("*.parquet"))
            by_pyarrow = pyarrow.parquet.read_table(files)
            by_duckdb = duckdb.sql(f"select * from read_parquet({files!r})")
            by_datasets = datasets.load_dataset(str(arguments.folder), name, split="train", cache_dir=cache)
            columns = by_pyarrow.column_names
            if by_duckdb.columns != columns or by_datasets.column_names != columns:
                faults.append(f"{table}: the columns differ between readers")
            counts = {by_pyarrow.num_rows, by_duckdb.count("*").fetchall()[0][0], by_datasets.num_rows}
            if len(counts) != 1:
                faults.append(f"{table}: the counts differ between readers: {counts}")
            n_pictures = 0
            for row in by_pyarrow.to_pylist():
                for found in cells(row):
                    faults.extend(f"{table} holds `{needle.decode()}`" for needle in needles if needle in found)
                for image in row.get("images") or []:
                    if image["bytes"] is not None:
                        PIL.Image.open(io.BytesIO(image["bytes"])).load()
                        n_pictures += 1
            summary[table] = {"rows": by_pyarrow.num_rows, "columns": columns, "pictures": n_pictures}
    for path in sorted(arguments.folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            faults.extend(f"{path.name} holds `{needle.decode()}`" for needle in needles if needle in content)
    for fault in faults:
        print(f"read_back_screened: {fault}", file=sys.stderr)
    print(json.dumps(summary))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
