#!/usr/bin/env python3
"""Measures the language annotator: how often it is right, and how many texts a second on one core.

    AGON_TESTDATA=FOLDER python3 benches/language.py      # sentences in 75 languages, declarations in 443
    python3 benches/language.py --texts FILE.jsonl        # lines of {"lang": code, "text": …}
    python3 -m pip install pycld2 py3langid               # other detectors, measured beside it

Accuracy is the mean over languages. `--cut N` takes the first N characters of each text.
"""

import argparse
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
# What others call the same language.
SAME = {"iw": "he", "jw": "jv", "no": "nb", "zh-Hant": "zh", "in": "id", "fil": "tl", "ji": "yi"}


def sets_of(folder):
    langid = pathlib.Path(folder) / "text/langid"
    with gzip.open(langid / "lingua_sentences.jsonl.gz", "rt", encoding="utf-8") as file:
        yield "sentences", [json.loads(line) for line in file]
    rows = []
    with gzip.open(langid / "udhr_articles.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            code = record["bcp47"]
            own = ("sr-Cyrl", "sr-Latn", "az-Latn", "bs-Latn", "mn-Cyrl", "tk-Latn", "uz-Latn", "uz-Cyrl", "ug-Arab")
            foreign = ("Cyrl", "Latn", "Arab", "Mong", "Java", "Tglg", "Hani", "Gran")
            if code.endswith(foreign) and code not in own + ("zlm-Latn",):
                continue
            code = {"als": "sq", "zlm-Latn": "ms", "hau": "ha", "cat": "ca"}.get(code, code.split("-")[0])
            rows += [{"lang": code, "text": text} for text in record["paragraphs"]]
    yield "declaration", rows


def known_codes():
    table = (REPOSITORY / "crates/agon-content/src/annotate/language/names.rs").read_text()
    return {line.split('"')[1] for line in table.splitlines() if line.strip().startswith(("common(", "rare("))}


def agon(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
        file.flush()
        command = ["cargo", "run", "--quiet", "--release", "-p", "agon-content", "--example", "annotate", "--"]
        done = subprocess.run(command + ["language", file.name], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return result["counts"], result["seconds"], result["calibration"]


def other(name, rows):
    if name == "pycld2":
        import pycld2

        def detect(text):
            try:
                return pycld2.detect(text, bestEffort=True)[2][0][1]
            except pycld2.error:
                return "error"
    else:
        import py3langid

        detect = lambda text: py3langid.classify(text)[0]
    counts = collections.defaultdict(collections.Counter)
    start = time.process_time()
    found = [detect(row["text"]) for row in rows]
    seconds = time.process_time() - start
    for row, code in zip(rows, found):
        counts[row["lang"]][SAME.get(code, code)] += 1
    return counts, seconds, None


def show(name, counts, seconds, calibration, verbose):
    accuracies = {code: found.get(code, 0) / sum(found.values()) for code, found in counts.items()}
    n = sum(sum(found.values()) for found in counts.values())
    mean = sum(accuracies.values()) / len(accuracies)
    print(f"  {name:10} {100 * mean:6.2f} % of {len(accuracies)} languages, {n / seconds:9.0f} texts/s")
    if not verbose:
        return
    for code, accuracy in sorted(accuracies.items(), key=lambda item: item[1])[:30]:
        wrong = sorted(((v, k) for k, v in counts[code].items() if k != code), reverse=True)[:5]
        print(f"    {code:4} {100 * accuracy:5.1f} %  " + ", ".join(f"{k} {v}" for v, k in wrong))
    for tenth, (all_of_it, right) in enumerate(calibration or []):
        if all_of_it:
            print(f"    confidence {tenth / 10:.1f}: {all_of_it:6} texts, {100 * right / all_of_it:5.1f} % right")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", nargs="*", default=[])
    parser.add_argument("--cut", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.texts:
        sets = [(path, [json.loads(line) for line in open(path, encoding="utf-8")]) for path in options.texts]
    elif "AGON_TESTDATA" in os.environ:
        sets = list(sets_of(os.environ["AGON_TESTDATA"]))
    else:
        sys.exit("no texts: set AGON_TESTDATA or give --texts")
    known = known_codes()
    for name, rows in sets:
        rows = [{"lang": row["lang"], "text": row["text"][: options.cut]} for row in rows if row["lang"] in known]
        print(f"{name}: {len(rows)} texts")
        show("agon", *agon(rows), options.verbose)
        for peer in ["pycld2", "py3langid"]:
            try:
                show(peer, *other(peer, rows), False)
            except ImportError:
                print(f"  {peer} is not installed")


if __name__ == "__main__":
    main()
