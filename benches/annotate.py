#!/usr/bin/env python3
"""Times `agon annotate` over battles from a file to a labelled dataset, without a vision model.

    benches/annotate.py                      # 30,000 battles
    benches/annotate.py --battles 3000 --rounds 3 --agon target/release/agon

The battles are synthetic: prompts and answers are put together from sentences of this script in
eight languages, with Markdown, code and lists, about 250 words an answer, so that every annotator
has something to do. The limit that the figure is held against is 60 seconds on two cores.
Standard library only; wall time, processor time and peak memory are the operating system's.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
SENTENCES = {
    "en": ["The picture shows a bridge over a river in the evening light.", "You can see three boats near the bank, and a man who waits.", "It follows that the sum of both numbers is larger than ten.", "First measure the flour, then add the water slowly."],
    "de": ["Das Bild zeigt eine Brücke über einen Fluss im Abendlicht.", "Daraus folgt, dass die Summe beider Zahlen größer als zehn ist."],
    "fr": ["L'image montre un pont sur une rivière à la lumière du soir.", "Il en résulte que la somme des deux nombres dépasse dix."],
    "es": ["La imagen muestra un puente sobre un río al atardecer.", "De ahí se sigue que la suma de ambos números es mayor que diez."],
    "ru": ["На картинке виден мост через реку в вечернем свете.", "Отсюда следует, что сумма обоих чисел больше десяти."],
    "zh": ["图片显示了傍晚光线下的一座河上桥梁。", "由此可见,两个数的和大于十。"],
    "vi": ["Bức ảnh cho thấy một cây cầu bắc qua sông trong ánh chiều.", "Từ đó suy ra tổng của hai số lớn hơn mười."],
    "ar": ["تظهر الصورة جسرا فوق نهر في ضوء المساء.", "ويترتب على ذلك أن مجموع العددين أكبر من عشرة."],
}
PROMPTS = {
    "en": ["What does the sign in the picture say?", "Write a short poem about this place.", "Solve exercise 3 and explain each step.", "Why does this function fail?\n```python\nprint(1 / 0)\n```"],
    "de": ["Was steht auf dem Schild?"],
    "fr": ["Décris cette image en détail."],
    "es": ["¿Qué se ve en la foto?"],
    "ru": ["Что написано на вывеске?"],
    "zh": ["这张图片里有什么?"],
    "vi": ["Trong ảnh này có gì?"],
    "ar": ["ماذا يوجد في هذه الصورة؟"],
}


def answer(chance, language):
    """About 250 words with headers, lists, bold text and sometimes code."""
    parts = []
    for number in range(chance.randint(3, 7)):
        parts.append(f"## {number + 1}. {chance.choice(SENTENCES[language])}")
        parts.append(" ".join(chance.choice(SENTENCES[language]) for _ in range(3)))
        parts.extend(f"- **{item}** {chance.choice(SENTENCES[language])}" for item in range(2))
    if chance.random() < 0.1:
        parts.append("```python\nfor i in range(10):\n    print(i)\n```")
    if chance.random() < 0.03:
        return "I'm sorry, but I can't help with that."
    return "\n\n".join(parts)


def write(path, n_battles, seed):
    chance = random.Random(seed)
    models = [f"model-{number}" for number in range(19)]
    with open(path, "w", encoding="utf-8") as file:
        for number in range(n_battles):
            language = "en" if chance.random() < 0.5 else chance.choice(list(SENTENCES))
            prompt = f"{chance.choice(PROMPTS[language])} ({number % (n_battles // 2 + 1)})"
            a, b = chance.sample(models, 2)
            side = lambda: [[{"role": "user", "content": prompt}, {"role": "assistant", "content": answer(chance, language)}]]
            row = {"question_id": f"q{number}", "model_a": a, "model_b": b, "winner": chance.choice(["model_a", "model_b", "tie", "tie (bothbad)"]), "judge": f"judge-{number % 997}", "tstamp": 1.7e9 + number, "images": [], "conversation_a": side(), "conversation_b": side()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--battles", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agon", default=str(REPOSITORY / "target/release/agon"))
    arguments = parser.parse_args()
    if not os.path.exists(arguments.agon):
        sys.exit(f"{arguments.agon} is missing: cargo build --release, or name it with --agon")
    with tempfile.TemporaryDirectory() as folder:
        battles = os.path.join(folder, "battles.jsonl")
        write(battles, arguments.battles, seed=1)
        megabytes = os.path.getsize(battles) / 1e6
        print(f"{arguments.battles} battles, {megabytes:.0f} MB of JSON lines")
        walls, cpus = [], []
        for number in range(arguments.rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.monotonic()
            subprocess.run([arguments.agon, "annotate", battles, "-o", os.path.join(folder, f"out-{number}"), "--quiet"], check=True)
            walls.append(time.monotonic() - started)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        wall = statistics.median(walls)
        print(f"wall {wall:.1f} s (limit 60 s for 30,000), processor {statistics.median(cpus):.1f} s, peak {peak:.0f} MiB, {arguments.battles / wall:.0f} battles/s")


if __name__ == "__main__":
    main()
