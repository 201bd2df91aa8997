#!/usr/bin/env python3
"""One peer as one whole process: a file of votes to a leaderboard, as its own documentation does it.

    .venv-bench/bin/python benches/peers.py PEER FILE     prints {model: [rating, lower, upper]} as JSON

`lower` and `upper` are null where the peer has no interval. Ties and both bad count half a win for
each side everywhere, ratings are on the scale 400 with base 10. Reading the file is part of the
process and is the same for all: the three columns that matter, by pandas.
"""

import json
import math
import sys

SCALE = 400 / math.log(10)
Z = 1.959963984540054


def votes(path):
    import pandas as pd

    columns = ["model_a", "model_b", "winner"]
    if path.endswith(".csv"):
        return pd.read_csv(path, usecols=columns)
    return pd.read_parquet(path, columns=columns)


def pair_counts(table):
    """The models and, for each ordered pair, the wins of the first over the second, ties half."""
    import numpy as np
    import pandas as pd

    codes, names = pd.factorize(pd.concat([table["model_a"], table["model_b"]]), sort=True)
    first, second = codes[: len(table)], codes[len(table) :]
    score = table["winner"].map({"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5}).to_numpy()
    n = len(names)
    wins = np.bincount(first * n + second, weights=score, minlength=n * n)
    wins += np.bincount(second * n + first, weights=1.0 - score, minlength=n * n)
    return names, wins.reshape(n, n), first, second, score


def numpy_newton(path):
    """The reference: exact Bradley-Terry by Newton's method with sandwich intervals, relative to the plain mean."""
    import numpy as np

    names, wins, first, second, score = pair_counts(votes(path))
    n = len(names)
    games = wins + wins.T
    rating = np.zeros(n)
    # Sum-to-zero makes the Hessian regular without moving the optimum.
    pin = np.full((n, n), 1.0 / n)
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(rating[None, :] - rating[:, None]))
        gradient = (wins - games * p).sum(axis=1)
        weight = games * p * (1.0 - p)
        hessian = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.solve(hessian + pin, gradient)
        rating += step
        if np.abs(step).max() < 1e-12:
            break
    # The score of one battle is (outcome - p) at the first model and its negative at the second;
    # its squares, summed by pair, need the three outcomes apart.
    p = 1.0 / (1.0 + np.exp(rating[None, :] - rating[:, None]))
    squares = np.zeros((n, n))
    for outcome in (0.0, 0.5, 1.0):
        count = np.bincount((first * n + second)[score == outcome], minlength=n * n).reshape(n, n)
        squares += count * (outcome - p) ** 2
    squares = squares + squares.T
    middle = np.diag(squares.sum(axis=1)) - squares
    inverse = np.linalg.inv(hessian + pin)
    error = np.sqrt(np.diag(inverse @ middle @ inverse)) * SCALE * Z
    rating = 1000.0 + (rating - rating.mean()) * SCALE
    return {name: [r, r - e, r + e] for name, r, e in zip(names, rating, error, strict=True)}


def arena_rank(path):
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    dataset = PairDataset.from_pandas(votes(path))
    result = BradleyTerry(n_competitors=len(dataset.competitors)).compute_ratings_and_cis(dataset, significance_level=0.05)
    columns = (result["ratings"].tolist(), result["rating_lower"].tolist(), result["rating_upper"].tolist())
    return {name: list(row) for name, *row in zip(result["competitors"], *columns, strict=True)}


def evalica(path):
    import evalica as library

    table = votes(path)
    spellings = {"model_a": library.Winner.X, "model_b": library.Winner.Y, "tie": library.Winner.Draw, "tie (bothbad)": library.Winner.Draw}
    result = library.bradley_terry(table["model_a"], table["model_b"], table["winner"].map(spellings))
    return {name: [1000.0 + 400.0 * math.log10(score), None, None] for name, score in result.scores.items()}


def choix(path):
    import choix as library

    names, wins, *_ = pair_counts(votes(path))
    strengths = library.ilsr_pairwise_dense(wins)
    return {name: [1000.0 + strength * SCALE, None, None] for name, strength in zip(names, strengths.tolist(), strict=True)}


def fastchat(path):
    """FastChat as PyPI has it (0.2.36, February 2024): scikit-learn's logistic regression."""
    import importlib.util
    import pathlib
    import types

    # `fastchat.model` would import torch, of which the rating code needs nothing: an empty package takes its place.
    folder = pathlib.Path(importlib.util.find_spec("fastchat").origin).parent / "model"
    package = types.ModuleType("fastchat.model")
    package.__path__ = [str(folder)]
    sys.modules["fastchat.model"] = package
    from fastchat.serve.monitor.elo_analysis import compute_elo_mle_with_tie

    return {name: [float(rating), None, None] for name, rating in compute_elo_mle_with_tie(votes(path)).items()}


PEERS = {"numpy": numpy_newton, "arena-rank": arena_rank, "evalica": evalica, "choix": choix, "fastchat": fastchat}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PEERS:
        sys.exit(f"usage: peers.py {'|'.join(PEERS)} FILE")
    json.dump(PEERS[sys.argv[1]](sys.argv[2]), sys.stdout)
