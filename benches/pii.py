#!/usr/bin/env python3
"""Times agon-pii, and Presidio's rule recognisers beside it, on the same texts, each on one core.

    python3 benches/pii.py                                   # Agon alone
    python3 benches/pii.py --peer .venv-bench-pii/bin/python # and Presidio, in an environment that has it:
                                                             # pip install presidio-analyzer==2.2.363

The texts are made here with a fixed seed: ordinary sentences, every twentieth with something from the fixtures of
crates/agon-pii, in pieces of about 5 kB, the length of a long answer.
Agon is measured in its own process by the example `find_in_lines --time`: the median of nine passes, without its
start. Presidio is measured the same way, by this file run with --as-peer: recognisers loaded once, then the median of
three passes. It gets no language model: a blank tokenizer stands in, and its NER is off, which is the quickest it can be.
The median of three rounds in turn is printed, with the ratio.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = (
    "the model answers a question about gardens and rivers while people compare two texts and choose the better one "
    "because it explains how water moves through soil and why leaves turn brown in autumn after long dry summers"
).split()


def texts(count, size, seed=7):
    chance = random.Random(seed)
    values = [
        json.loads(line)["text"].replace("\n", " ")
        for name in ("national", "documents", "worldwide", "harmless")
        for line in (ROOT / f"crates/agon-pii/fixtures/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    made = []
    for _ in range(count):
        parts, length = [], 0
        while length < size:
            words = [chance.choice(WORDS) for _ in range(chance.randrange(6, 18))]
            part = chance.choice(values) if chance.random() < 0.05 else " ".join(words).capitalize() + "."
            parts.append(part)
            length += len(part.encode()) + 1
        made.append(" ".join(parts))
    return made


def agon(lines):
    run = ["cargo", "run", "--quiet", "--release", "-p", "agon-pii", "--example", "find_in_lines", "--", "--time"]
    out = subprocess.run(run, input="\n".join(lines), capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return float(out.split(" bytes, ")[1].split(" ms")[0]) / 1e3


def peer(python, lines, recognisers):
    run = [python, __file__, "--as-peer", recognisers]
    out = subprocess.run(run, input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    return float(out)


def as_peer(recognisers):
    import logging

    import presidio_analyzer.predefined_recognizers as predefined
    import spacy
    from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine

    logging.disable(logging.CRITICAL)
    blank = spacy.blank("en")

    class Blank(NlpEngine):
        def load(self):
            pass

        def is_loaded(self):
            return True

        def process_text(self, text, language):
            doc = blank(text)
            tokens = [token.text.lower() for token in doc]
            return NlpArtifacts([], doc, [token.idx for token in doc], tokens, self, language)

        def process_batch(self, texts, language, **_):
            return ((text, self.process_text(text, language)) for text in texts)

        def is_stopword(self, word, language):
            return blank.vocab[word].is_stop

        def is_punct(self, word, language):
            return blank.vocab[word].is_punct

        def get_supported_entities(self):
            return []

        def get_supported_languages(self):
            return ["en"]

    registry = RecognizerRegistry(supported_languages=["en"])
    if recognisers == "default":
        registry.load_predefined_recognizers(languages=["en"], nlp_engine=Blank())
        for recogniser in list(registry.recognizers):
            if "Spacy" in recogniser.name or "Nlp" in recogniser.name:
                registry.remove_recognizer(recogniser.name)
    else:
        for name in dir(predefined):
            kind = getattr(predefined, name)
            rule_based = isinstance(kind, type) and issubclass(kind, EntityRecognizer) and name.endswith("Recognizer")
            if not rule_based or any(part in name for part in ("Spacy", "Stanza", "Transformers", "GLiNER", "Azure", "LLM", "LangExtract", "Flair", "HuggingFace", "Medical", "Lm")):
                continue
            try:
                recogniser = kind()
            except Exception:
                continue
            recogniser.supported_language = "en"
            registry.add_recognizer(recogniser)
    engine = AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    lines = sys.stdin.read().split("\n")
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        for line in lines:
            engine.analyze(line, language="en")
        seconds.append(time.perf_counter() - start)
    print(len(registry.recognizers), "recognisers", file=sys.stderr)
    print(statistics.median(seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="a Python that has presidio-analyzer")
    parser.add_argument("--count", type=int, default=40, help="texts of about 5 kB (default: %(default)s)")
    parser.add_argument("--as-peer", choices=["default", "all"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_peer:
        as_peer(options.as_peer)
        return
    lines = texts(options.count, 5_000)
    size = sum(len(line.encode()) for line in lines)
    contenders = [("agon-pii", lambda: agon(lines))]
    if options.peer:
        # The path of an environment's interpreter is a link that must not be followed.
        python = os.path.abspath(options.peer)
        contenders.append(("presidio, default", lambda: peer(python, lines, "default")))
        contenders.append(("presidio, all rules", lambda: peer(python, lines, "all")))
    rounds = {name: [] for name, _ in contenders}
    for _ in range(3):
        for name, measure in contenders:
            rounds[name].append(measure())
    print(f"{len(lines)} texts, {size} bytes")
    print(f"{'':<22}{'ms per 5 kB':>12}{'MB/s':>10}{'ratio':>8}")
    base = statistics.median(rounds["agon-pii"])
    for name, _ in contenders:
        middle = statistics.median(rounds[name])
        print(f"{name:<22}{middle / size * 5e6:>12.2f}{size / middle / 1e6:>10.3f}{middle / base:>8.1f}")


if __name__ == "__main__":
    main()
