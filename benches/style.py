#!/usr/bin/env python3
"""Times the style counts beside the reference's way in Python, on the same answers, on one core.

    python3 benches/style.py                        # answers that it makes up, with a fixed seed
    python3 benches/style.py --answers FILE.jsonl   # lines of {"text": …}, or records of Arena-Hard
    python3 -m pip install tiktoken                 # for the comparison of tokens

The reference is what FastChat's monitor does, in our words: the patterns of docs/annotation.md, one `re.findall`
each. Time is the processor's, the better of three rounds; a count that differs is an error, not a result.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
HEADERS = [re.compile(rf"^#{{{level}}}\s", re.M) for level in range(1, 7)]
OTHERS = [
    re.compile(r"^\s*\d+\.\s", re.M),
    re.compile(r"^\s*[-*+]\s", re.M),
    re.compile(r"\*\*[^*\n]+\*\*"),
    re.compile(r"__[^_\n]+__"),
]
CODE = re.compile(r"```([^`]*)```")


def reference(text):
    """h1 to h6, ordered, unordered, asterisks, underscores."""
    for inside in CODE.findall(text):
        text = text.replace(inside, "")
    return [len(pattern.findall(text)) for pattern in HEADERS + OTHERS]


def made_up(n):
    """Answers as models write them: headers, items, bold, code, about 2,500 characters each."""
    chance = random.Random(1)
    words = "the image shows a red car near two people under an old tree with light and shadow on the left".split()
    line = lambda n_words: " ".join(chance.choice(words) for _ in range(n_words))
    for _ in range(n):
        parts = []
        for _ in range(chance.randint(3, 9)):
            kind = chance.random()
            if kind < 0.2:
                parts.append("#" * chance.randint(1, 4) + " " + line(4))
            elif kind < 0.4:
                parts.append("\n".join(f"{i + 1}. **{line(2)}**: {line(12)}" for i in range(chance.randint(2, 6))))
            elif kind < 0.55:
                parts.append("\n".join(f"- {line(9)}" for _ in range(chance.randint(2, 6))))
            elif kind < 0.65:
                parts.append("```python\n# a comment\n" + "\n".join(f"x_{i} = {i} * y" for i in range(8)) + "\n```")
            else:
                parts.append(line(chance.randint(30, 90)).capitalize() + ".")
        yield "\n\n".join(parts)


def answers_of(path):
    for line in open(path, encoding="utf-8"):
        record = json.loads(line)
        if "text" in record:
            yield record["text"]
            continue
        for message in record["messages"]:
            if message["role"] == "assistant":
                content = message["content"]
                yield content if isinstance(content, str) else content["answer"]


def best_of(rounds, work):
    least, result = float("inf"), None
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        least = min(least, time.process_time() - start)
    return least, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", nargs="*", default=[])
    parser.add_argument("--n", type=int, default=4000, help="how many answers to make up (default: 4000)")
    options = parser.parse_args()
    texts = [text for path in options.answers for text in answers_of(path)] or list(made_up(options.n))
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{len(texts)} answers, {megabytes:.1f} MB")

    ours = agon(texts)
    seconds, rows = best_of(3, lambda: [reference(text) for text in texts])
    expected = [sum(column) for column in zip(*rows)]
    if expected != ours["compat"]:
        sys.exit(f"the counts differ: {ours['compat']}, the reference has {expected}")
    row("Markdown, published patterns", seconds, ours["seconds"]["compat"], megabytes)
    for name in ["commonmark", "text"]:
        print(f"{name:30} {'':>14} {megabytes / ours['seconds'][name]:10.1f} MB/s")
    try:
        import tiktoken
    except ImportError:
        print("tiktoken is not installed: tokens are not compared")
        return
    for name, key in [("cl100k_base", "cl100k"), ("o200k_base", "o200k")]:
        try:
            encoding = tiktoken.get_encoding(name)
        except Exception as error:
            # The library fetches its vocabularies at the first use.
            print(f"tiktoken has no {name} here ({type(error).__name__}): not compared")
            continue
        encode = lambda: sum(len(encoding.encode(text, allowed_special="all")) for text in texts)
        seconds, n_tokens = best_of(3, encode)
        if n_tokens != ours["tokens"][key]:
            sys.exit(f"{name}: {ours['tokens'][key]} tokens, tiktoken has {n_tokens}")
        row(f"tokens, {name}", seconds, ours["seconds"][key], megabytes)


def row(name, reference_s, ours_s, megabytes):
    print(
        f"{name:30} {megabytes / reference_s:9.1f} MB/s {megabytes / ours_s:10.1f} MB/s"
        f" {reference_s / ours_s:8.1f} x, the same counts"
    )


def agon(texts):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
        file.flush()
        command = ["cargo", "run", "--quiet", "--release", "-p", "agon-content", "--example", "annotate", "--"]
        done = subprocess.run(command + ["style", file.name], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
