#!/usr/bin/env python3
"""One peer as one whole process: a file of votes to a leaderboard, as its own documentation does it.

    .venv-bench/bin/python benches/peers.py PEER FILE

prints {"models": {model: [rating, lower, upper]}, "coefficients": {feature: [estimate, lower, upper]}}
as JSON. `lower` and `upper` are null where the peer has no interval. Ties and both bad count half a
win for each side everywhere, ratings are on the scale 400 with base 10. Reading the file is part of
the process: only the columns that matter, by pandas, or by pyarrow for nested counts.

The readers (polars-*, duckdb-*) fit nothing: they read and count the columns that a board needs, and
print {"rows": …, "distinct": …, "sum": …, "seconds": …}.
"""

import json
import math
import sys
import time

SCALE = 400 / math.log(10)
Z = 1.959963984540054
SCORES = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5}
FEATURES = ["length", "headers", "lists", "bold"]
GROUPS = {"header_count": ["h1", "h2", "h3", "h4", "h5", "h6"], "list_count": ["ordered", "unordered"], "bold_count": ["**", "__"]}
# Every number of `conv_metadata` that the four features of style control need.
LEAVES = [("sum_assistant_a_tokens",), ("sum_assistant_b_tokens",)]
LEAVES += [(f"{group}_{side}", member) for group, members in GROUPS.items() for side in "ab" for member in members]


def votes(path):
    import pandas as pd

    columns = ["model_a", "model_b", "winner"]
    if path.endswith(".csv"):
        return pd.read_csv(path, usecols=columns)
    return pd.read_parquet(path, columns=columns)


def coded(table):
    """Names of the models, their numbers on both sides, and the score of side A."""
    import pandas as pd

    codes, names = pd.factorize(pd.concat([table["model_a"], table["model_b"]]), sort=True)
    return names, codes[: len(table)], codes[len(table) :], table["winner"].map(SCORES).to_numpy(dtype=float)


def pair_counts(table):
    """The models and, for each ordered pair, the wins of the first over the second, ties half."""
    import numpy as np

    names, first, second, score = coded(table)
    n = len(names)
    wins = np.bincount(first * n + second, weights=score, minlength=n * n)
    wins += np.bincount(second * n + first, weights=1.0 - score, minlength=n * n)
    return names, wins.reshape(n, n), first, second, score


def style_totals(path):
    """The votes, and the totals of the four features by side, summed by pyarrow."""
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    columns = ["model_a", "model_b", "winner"]
    table = pq.ParquetFile(path).read(columns=columns + [".".join(("conv_metadata", *leaf)) for leaf in LEAVES])
    metadata = table["conv_metadata"].combine_chunks()
    totals = {}
    for side in "ab":
        totals["length", side] = pc.struct_field(metadata, f"sum_assistant_{side}_tokens").to_numpy().astype(float)
        for feature, (group, members) in zip(FEATURES[1:], GROUPS.items(), strict=True):
            sums = np.zeros(len(table))
            for member in members:
                sums += pc.struct_field(metadata, [f"{group}_{side}", member]).to_numpy()
            totals[feature, side] = sums
    return table.select(columns).to_pandas(), totals


def differences(totals, plus_one):
    """Features as an array rows × 4: (a − b) / (a + b + 1), or (a − b) / (a + b) and 0 when both are 0."""
    import numpy as np

    columns = []
    for feature in FEATURES:
        a, b = totals[feature, "a"], totals[feature, "b"]
        total = a + b + 1.0 if plus_one else np.where(a + b == 0.0, 1.0, a + b)
        columns.append((a - b) / total)
    return np.column_stack(columns)


def board(names, rating, error=None, coefficients=None, coefficient_error=None):
    """The printed form; ratings in points, errors as half widths, absent where there are none."""

    def rows(labels, values, errors):
        values = [float(value) for value in values]
        if errors is None:
            return {label: [value, None, None] for label, value in zip(labels, values, strict=True)}
        return {label: [value, value - e, value + e] for label, value, e in zip(labels, values, map(float, errors), strict=True)}

    found = {"models": rows(names, rating, error)}
    if coefficients is not None:
        found["coefficients"] = rows(FEATURES, coefficients, coefficient_error)
    return found


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
    return board(names, 1000.0 + (rating - rating.mean()) * SCALE, error)


def weighted_design(n, first, second, features, weight):
    """Σ weight · z zᵀ over battles, z = (unit vector of the first − of the second, features)."""
    import numpy as np

    k = features.shape[1]
    found = np.zeros((n + k, n + k))
    pairs = np.bincount(first * n + second, weights=weight, minlength=n * n).reshape(n, n)
    pairs = pairs + pairs.T
    found[:n, :n] = np.diag(pairs.sum(axis=1)) - pairs
    for feature in range(k):
        column = weight * features[:, feature]
        cross = np.bincount(first, weights=column, minlength=n) - np.bincount(second, weights=column, minlength=n)
        found[:n, n + feature] = found[n + feature, :n] = cross
        for other in range(k):
            found[n + feature, n + other] = column @ features[:, other]
    return found


def style_newton(n, first, second, score, features, weight, start):
    """The exact maximum of the weighted likelihood with features: parameters, residuals, Hessian."""
    import numpy as np

    parameters = start.copy()
    pin = np.zeros((n + features.shape[1],) * 2)
    pin[:n, :n] = 1.0 / n
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(parameters[first] - parameters[second] + features @ parameters[n:])))
        residual = weight * (score - p)
        gradient = np.concatenate(
            [np.bincount(first, weights=residual, minlength=n) - np.bincount(second, weights=residual, minlength=n), features.T @ residual]
        )
        hessian = weighted_design(n, first, second, features, weight * p * (1.0 - p)) + pin
        step = np.linalg.solve(hessian, gradient)
        parameters += step
        if np.abs(step).max() < 1e-11:
            break
    return parameters, residual, hessian


def style_problem(path):
    import numpy as np

    table, totals = style_totals(path)
    names, first, second, score = coded(table)
    features = differences(totals, plus_one=True)
    # Scaled and not centred, so that exchanging sides only negates a feature.
    features /= np.sqrt((features**2).mean(axis=0))
    return names, first, second, score, features


def numpy_style(path):
    """The reference with four style features: exact, unpenalised, with sandwich intervals."""
    import numpy as np

    names, first, second, score, features = style_problem(path)
    n = len(names)
    parameters, residual, hessian = style_newton(n, first, second, score, features, np.ones(len(score)), np.zeros(n + len(FEATURES)))
    inverse = np.linalg.inv(hessian)
    covariance = inverse @ weighted_design(n, first, second, features, residual**2) @ inverse
    # Under the plain mean; the pin has already taken the mean out, this makes it exact.
    centre = np.eye(n + len(FEATURES))
    centre[:n, :n] -= 1.0 / n
    error = np.sqrt(np.diag(centre @ covariance @ centre.T)) * Z
    rating = 1000.0 + (parameters[:n] - parameters[:n].mean()) * SCALE
    return board(names, rating, error[:n] * SCALE, parameters[n:], error[n:])


def numpy_style_bootstrap(path, rounds=1000):
    """The reference's bootstrap: battles drawn anew, full refits from the estimate, percentile intervals."""
    import numpy as np

    names, first, second, score, features = style_problem(path)
    n, rows = len(names), len(score)
    estimate, *_ = style_newton(n, first, second, score, features, np.ones(rows), np.zeros(n + len(FEATURES)))
    rng = np.random.default_rng(0)
    draws = np.empty((rounds, n + len(FEATURES)))
    for number in range(rounds):
        weight = np.bincount(rng.integers(rows, size=rows), minlength=rows).astype(float)
        draws[number], *_ = style_newton(n, first, second, score, features, weight, estimate)
    draws[:, :n] = 1000.0 + (draws[:, :n] - draws[:, :n].mean(axis=1, keepdims=True)) * SCALE
    lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
    rating = 1000.0 + (estimate[:n] - estimate[:n].mean()) * SCALE
    columns = list(zip([*rating, *estimate[n:]], lower, upper, strict=True))
    rows = [[float(value) for value in row] for row in columns]
    return {"models": dict(zip(names, rows[:n], strict=True)), "coefficients": dict(zip(FEATURES, rows[n:], strict=True))}


def arena_rank(path):
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    dataset = PairDataset.from_pandas(votes(path))
    result = BradleyTerry(n_competitors=len(dataset.competitors)).compute_ratings_and_cis(dataset, significance_level=0.05)
    return {"models": arena_rank_rows(result)}


def arena_rank_rows(result):
    columns = (result["ratings"].tolist(), result["rating_lower"].tolist(), result["rating_upper"].tolist())
    return {name: list(row) for name, *row in zip(result["competitors"], *columns, strict=True)}


def arena_rank_contextual(table):
    """Its contextual model with default settings: pair weights, coefficients drawn to zero, sandwich."""
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset

    dataset = ContextualPairDataset.from_pandas(table, feature_cols=FEATURES)
    model = ContextualBradleyTerry(n_competitors=len(dataset.competitors), n_features=len(FEATURES))
    result = model.compute_ratings_and_cis(dataset, significance_level=0.05)
    coefficients = {feature: [value, None, None] for feature, value in zip(FEATURES, result["coeffs"].tolist(), strict=True)}
    return {"models": arena_rank_rows(result), "coefficients": coefficients}


def arena_rank_style(path):
    """The way of arena-rank's own examples: each row's metadata as a Python dictionary, summed by a function for each."""
    import pandas as pd

    table = pd.read_parquet(path, columns=["model_a", "model_b", "winner", "conv_metadata"])
    metadata = table.pop("conv_metadata")
    for feature, group in zip(FEATURES, [None, *GROUPS], strict=True):
        if group is None:
            a, b = (metadata.apply(lambda row, side=side: row[f"sum_assistant_{side}_tokens"]) for side in "ab")
        else:
            a, b = (metadata.apply(lambda row, name=f"{group}_{side}": sum(row[name].values())) for side in "ab")
        raw = (a - b) / (a + b).replace(0, 1)
        table[feature] = (raw - raw.mean()) / raw.std()
    return arena_rank_contextual(table)


def arena_rank_style_ready(path):
    """The same with features made by pyarrow and numpy, so that only the library itself is slow or quick."""
    table, totals = style_totals(path)
    features = differences(totals, plus_one=False)
    features = (features - features.mean(axis=0)) / features.std(axis=0, ddof=1)
    for idx, feature in enumerate(FEATURES):
        table[feature] = features[:, idx]
    return arena_rank_contextual(table)


def evalica(path):
    import evalica as library

    table = votes(path)
    spellings = {"model_a": library.Winner.X, "model_b": library.Winner.Y, "tie": library.Winner.Draw, "tie (bothbad)": library.Winner.Draw}
    result = library.bradley_terry(table["model_a"], table["model_b"], table["winner"].map(spellings))
    return {"models": {name: [1000.0 + 400.0 * math.log10(score), None, None] for name, score in result.scores.items()}}


def choix(path):
    import choix as library

    names, wins, *_ = pair_counts(votes(path))
    return board(names, 1000.0 + library.ilsr_pairwise_dense(wins) * SCALE)


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

    return {"models": {name: [float(rating), None, None] for name, rating in compute_elo_mle_with_tie(votes(path)).items()}}


def fastchat_lbfgs(first, second, score, weight, n, features=None, penalty=0.0):
    """FastChat's fit of April 2025 by its published definition: L-BFGS-B from zero, at most 100 steps, gtol 1e-6."""
    import numpy as np
    from scipy.optimize import minimize

    base = math.log(10)
    k = 0 if features is None else features.shape[1]

    def loss(parameters):
        logit = base * (parameters[first] - parameters[second])
        if k:
            logit = logit + features @ parameters[n:]
        p = 1.0 / (1.0 + np.exp(-logit))
        value = -(weight * (score * np.log(p) + (1.0 - score) * np.log1p(-p))).sum() + 0.5 * penalty * (parameters @ parameters)
        residual = weight * (p - score)
        gradient = penalty * parameters
        gradient[:n] += base * (np.bincount(first, weights=residual, minlength=n) - np.bincount(second, weights=residual, minlength=n))
        if k:
            gradient[n:] += features.T @ residual
        return value, gradient

    return minimize(loss, np.zeros(n + k), jac=True, method="L-BFGS-B", options={"maxiter": 100, "gtol": 1e-6}).x


def fastchat_2025(path):
    """FastChat's plain fit of April 2025, never released on PyPI: unique battles with counts, L-BFGS-B."""
    import numpy as np

    names, first, second, score = coded(votes(path))
    n = len(names)
    keys, counts = np.unique((first * n + second) * 3 + (2 * score).astype(int), return_counts=True)
    pairs, halves = keys // 3, keys % 3
    rating = fastchat_lbfgs(pairs // n, pairs % n, halves / 2.0, counts.astype(float), n)
    return board(names, 1000.0 + 400.0 * rating)


def fastchat_style_problem(path):
    table, totals = style_totals(path)
    names, first, second, score = coded(table)
    features = differences(totals, plus_one=True)
    return names, first, second, score, (features - features.mean(axis=0)) / features.std(axis=0)


def fastchat_style(path):
    """FastChat's style control of April 2025: centred features, penalty 0.5 on ratings and coefficients, point only."""
    import numpy as np

    names, first, second, score, features = fastchat_style_problem(path)
    n = len(names)
    found = fastchat_lbfgs(first, second, score, np.ones(len(score)), n, features, penalty=0.5)
    return board(names, 1000.0 + 400.0 * found[:n], None, found[n:])


def fastchat_style_bootstrap(path, rounds=100):
    """The same with its default of 100 rounds of rows drawn anew."""
    import numpy as np

    names, first, second, score, features = fastchat_style_problem(path)
    n, rows = len(names), len(score)
    found = fastchat_lbfgs(first, second, score, np.ones(rows), n, features, penalty=0.5)
    rng = np.random.default_rng(42)
    draws = []
    for _ in range(rounds):
        drawn = rng.integers(rows, size=rows)
        draws.append(fastchat_lbfgs(first[drawn], second[drawn], score[drawn], np.ones(rows), n, features[drawn], penalty=0.5))
    lower, upper = np.quantile(np.array(draws), [0.025, 0.975], axis=0)
    points = [[1000.0 + 400.0 * value for value in row] for row in zip(found[:n], lower[:n], upper[:n], strict=True)]
    coefficients = [[float(value) for value in row] for row in zip(found[n:], lower[n:], upper[n:], strict=True)]
    return {"models": dict(zip(names, points, strict=True)), "coefficients": dict(zip(FEATURES, coefficients, strict=True))}


def timed(query):
    """What a reader found, and the seconds of the query alone, without Python's start and imports."""
    started = time.perf_counter()
    found = query()
    return found | {"seconds": time.perf_counter() - started}


def polars_counts(path):
    import polars as pl

    counts = pl.scan_parquet(path).group_by("model_a", "model_b", "winner").agg(pl.len()).collect(engine="streaming")
    return {"rows": int(counts["len"].sum()), "distinct": counts.height}


def polars_sums(path):
    import polars as pl

    leaves = []
    for leaf in LEAVES:
        column = pl.col("conv_metadata")
        for name in leaf:
            column = column.struct.field(name)
        leaves.append(column.sum().alias(".".join(leaf)))
    return {"sum": sum(pl.scan_parquet(path).select(leaves).collect(engine="streaming").row(0))}


def polars_read(path):
    """Reads model_a, model_b and winner, and counts the distinct rows."""
    import polars  # before the clock starts

    return timed(lambda: polars_counts(path))


def polars_read_style(path):
    """The same, and sums every number that style control needs."""
    import polars  # before the clock starts

    return timed(lambda: polars_counts(path) | polars_sums(path))


def duckdb_counts(path):
    import duckdb

    query = "SELECT sum(n), count(*) FROM (SELECT count(*) AS n FROM read_parquet(?) GROUP BY model_a, model_b, winner)"
    rows, distinct = duckdb.execute(query, [path]).fetchone()
    return {"rows": int(rows), "distinct": distinct}


def duckdb_sums(path):
    import duckdb

    leaves = ", ".join("sum(" + ".".join(f'"{name}"' for name in ("conv_metadata", *leaf)) + ")" for leaf in LEAVES)
    return {"sum": int(sum(duckdb.execute(f"SELECT {leaves} FROM read_parquet(?)", [path]).fetchone()))}


def duckdb_read(path):
    """Reads model_a, model_b and winner, and counts the distinct rows."""
    import duckdb  # before the clock starts

    return timed(lambda: duckdb_counts(path))


def duckdb_read_style(path):
    """The same, and sums every number that style control needs."""
    import duckdb  # before the clock starts

    return timed(lambda: duckdb_counts(path) | duckdb_sums(path))


PEERS = {
    "numpy": numpy_newton,
    "numpy-style": numpy_style,
    "numpy-style-bootstrap": numpy_style_bootstrap,
    "arena-rank": arena_rank,
    "arena-rank-style": arena_rank_style,
    "arena-rank-style-ready": arena_rank_style_ready,
    "evalica": evalica,
    "choix": choix,
    "fastchat": fastchat,
    "fastchat-2025": fastchat_2025,
    "fastchat-style": fastchat_style,
    "fastchat-style-bootstrap": fastchat_style_bootstrap,
    "polars-read": polars_read,
    "polars-read-style": polars_read_style,
    "duckdb-read": duckdb_read,
    "duckdb-read-style": duckdb_read_style,
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in PEERS:
        sys.exit(f"usage: peers.py {'|'.join(PEERS)} FILE")
    json.dump(PEERS[sys.argv[1]](sys.argv[2]), sys.stdout)
