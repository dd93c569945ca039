"""The knapsack experiment: its tests, its state, its toy problem, by other means."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from tests.helpers.experiments import small_run
from tests.helpers.knapsack import toy as knapsack_toy

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from papers import Context, Result, write_run
from papers.knapsack import EXPERIMENT, marginals, sparse, splits, tables, toy

pytestmark = pytest.mark.xdist_group("knapsack")  # one run for all


@pytest.fixture(scope="module")
def run():
    return small_run("knapsack")[0]


def made_up(n_splits=3, names=("a", "b"), seed=0):
    rng = np.random.default_rng(seed)
    return [
        splits.SplitErrors(
            name,
            split,
            {m: float(rng.random()) for m in splits.METHODS},
            {m: [1.0, np.inf] for m in splits.METHODS},
        )
        for split in range(n_splits)
        for name in names
    ]


# Tests and tables --------------------------------------------------------------------------------


def test_corrected_test_is_a_t_test_with_more_variance():
    d = np.random.default_rng(0).normal(0.5, 1, 30)
    plain = ttest_1samp(d, 0)
    found = tables.paired_test(d)
    assert found.mean == pytest.approx(d.mean())
    factor = np.sqrt((1 / 30 + 0.25) / (1 / 30))
    assert found.mean / found.standard_error == pytest.approx(plain.statistic / factor)
    assert found.p > plain.pvalue
    assert tables.paired_test(np.zeros(5)) == (0.0, 0.0, 1.0)


def test_corrected_test_holds_its_level_where_the_plain_one_does_not():
    """Splits of one sample of coin flips: no method is better, and training sets overlap."""
    rng = np.random.default_rng(0)
    wrong = {"plain": 0, "corrected": 0}
    for _ in range(200):
        y = rng.random(60) < 0.5
        differences = []
        for _ in range(30):
            order = rng.permutation(60)
            train, test = order[:48], order[48:]
            majority = y[train].mean() > 0.5  # one method says the majority, one says yes
            differences.append(np.mean(y[test] != majority) - np.mean(~y[test]))
        d = np.array(differences)
        if d.std() == 0:
            continue
        wrong["plain"] += ttest_1samp(d, 0).pvalue < 0.05
        wrong["corrected"] += tables.paired_test(d).p < 0.05
    assert wrong["corrected"] < 30 < wrong["plain"]


def test_printed_values_are_those_of_table_1():
    assert tables.printed_value(splits.KNAP, "liver") == (30.52, 0.22)
    assert tables.printed_value(splits.MODE, "breast") == (4.35, 0.08)
    assert tables.printed_value(splits.EP, "contraceptive") == (32.49, 0.11)
    assert tables.printed_value(splits.ONE, "liver") is None
    assert tables.printed_value(splits.SVM, "iris") is None
    assert all(len(values) == len(splits.SETS) for values in tables.PRINTED.values())


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0, "agrees"), (5.0, "worse, by 5.0"), (-5.0, "better, by 5.0")]
)
def test_verdicts_count_both_standard_errors(shift, verdict):
    errors = np.array([29.0, 31.0] * 50)
    own = errors.std(ddof=1) / 10
    printed = (30 - shift * np.hypot(own, 0.2), 0.2)
    row = tables.error_row(splits.SVM, errors, printed)
    assert row.verdict.startswith(verdict)
    assert row.values[1] == 30


def test_quick_run_shows_table_1_beside_the_printed_numbers(run):
    shown = [t for t in run.result.tables if t.title.startswith("Table 1")]
    assert [t.title for t in shown] == [f"Table 1: {name}, in %" for name in splits.QUICK_SETS]
    for table, name in zip(shown, splits.QUICK_SETS, strict=True):
        printed = [tables.printed_value(method, name) for method in splits.METHODS]
        assert table.column("printed") == [value and value[0] for value in printed]
    assert "three of the seven sets" in run.result.setting["data"]


def test_files_are_written(run, tmp_path):
    path = write_run(run, tmp_path)
    document = json.loads(path.read_text())
    for figure in document["figures"]:
        assert (path.parent / f"{figure['name']}.png").stat().st_size > 10_000
        json.loads((path.parent / f"{figure['name']}.json").read_text())


# Splits ------------------------------------------------------------------------------------------


def test_best_pair_is_the_best_of_those_allowed():
    results = {
        "params": [{"C": C, "beta": b} for C in (1, 2) for b in (0.5, np.inf)],
        "param_beta": np.array([0.5, np.inf, 0.5, np.inf]),
        "mean_test_score": np.array([0.7, 0.9, 0.8, 0.9]),
        "smoothed_test_score": np.array([0.7, 0.8, 0.7, 0.85]),
    }
    assert splits.best_pair(results, results["param_beta"]) == {"C": 2, "beta": np.inf}
    assert splits.best_pair(results, [0.5]) == {"C": 2, "beta": 0.5}


def test_a_split_is_the_same_again_and_others_differ():
    data = splits.load_sets(Context())[0]
    one, again, other = (splits.solve_split(data, k, 0, splits.GRIDS["quick"]) for k in (0, 0, 1))
    assert one == again
    assert one.errors != other.errors or one.chosen != other.chosen
    assert set(one.errors) == set(splits.METHODS)
    assert one.chosen[splits.MODE][1] == np.inf
    assert one.chosen[splits.ONE][1] == 1


def test_interrupted_runs_go_on(tmp_path, monkeypatch):
    made = {(e.data, e.split): e for e in made_up()}
    asked = []

    def solve(data, split, seed, grids):
        asked.append((data.name, split))
        return made[data.name, split]

    monkeypatch.setattr(splits, "solve_split", solve)
    sets = [splits.DataSet(name, np.zeros((2, 1)), np.zeros(2, dtype=bool)) for name in "ab"]
    path = tmp_path / "knapsack" / "quick" / "splits.jsonl"

    def solve_all(n, seed=0):
        return splits.solve_splits(sets, Context(seed=seed, out=tmp_path, n_splits=n, n_jobs=1))

    first = solve_all(2)
    assert len(asked) == 4
    with path.open("a") as file:
        file.write('["cut sh')  # as an interruption leaves it
    asked.clear()
    with path.open("a") as file:
        file.write("\n")
    assert solve_all(3)[:4] == first
    assert asked == [("a", 2), ("b", 2)]
    asked.clear()
    solve_all(3)
    assert not asked
    solve_all(1, seed=5)  # other settings: nothing is taken over
    assert len(asked) == 2


def test_number_of_splits_and_state_come_from_the_context(tmp_path, monkeypatch):
    sets = splits.load_sets(Context())[:1]
    monkeypatch.setattr(splits, "load_sets", lambda context: sets)
    for part in (toy, sparse, marginals):  # they have no splits
        monkeypatch.setattr(part, "run", lambda *arguments: Result())
    context = Context(n_splits=2, out=tmp_path)
    result = EXPERIMENT.run(context)
    assert "2 splits" in result.tables[0].caption
    lines = (tmp_path / "knapsack" / "quick" / "splits.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert EXPERIMENT.run(replace(context, seed=0)).tables[0] == result.tables[0]


# The toy problem ---------------------------------------------------------------------------------


def test_true_error_by_simulation():
    rng = np.random.default_rng(0)
    w, n = np.array([1.0, 0.4, -0.3]), 200_000
    y = np.repeat([1, -1], n // 2)
    X = rng.normal(size=(n, 2)) + y[:, None]
    rate = np.mean(np.sign(X @ w[:2] + w[2]) != y)
    assert 100 * rate == pytest.approx(toy.true_error(w), abs=500 * np.sqrt(rate / n))
    assert toy.true_error(np.array([1.0, 1.0, 0.0])) == pytest.approx(toy.OPTIMUM)


def test_log_posterior_counts_margins():
    X, y = toy.draw_toy(0)
    w = np.array([0.8, 0.9, 0.1])
    short = np.sum(y * (X @ w[:2] + w[2]) < 1)
    assert toy.log_posterior(w, X, y) == pytest.approx(-short - 0.5 * w @ w)


def test_exact_bayes_point_by_importance_sampling():
    solved = toy.solve_toy(3)
    rng = np.random.default_rng(0)
    centre = solved.weights["exact Bayes point"]
    w = centre + rng.normal(size=(100_000, 3)) * 0.9
    log_ratio = toy.log_posterior(w, solved.X, solved.y)
    log_ratio += 0.5 * np.square((w - centre) / 0.9).sum(axis=1)
    ratio = np.exp(log_ratio - log_ratio.max())
    mean = ratio @ w / ratio.sum()
    assert np.abs(mean - centre).max() < 0.08
    assert np.abs(solved.weights["MAP"] - mean).max() > 0.08  # the mode is not the mean


def test_map_is_the_largest():
    solved = toy.solve_toy(0)
    best = toy.log_posterior(solved.weights["MAP"], solved.X, solved.y)
    assert best == solved.log_posterior.max()
    for name, weights in solved.weights.items():
        assert toy.log_posterior(weights, solved.X, solved.y) <= best + 0.2, name


# Sparse weights ----------------------------------------------------------------------------------


def test_weights_are_judged_by_their_size_and_their_answers():
    _, _, X, y = sparse.draw_sparse(0)
    right = np.append(np.pad(sparse.RELEVANT, (0, 16)), 0.0)
    found = sparse.judge(right, X, y)
    assert found.error == pytest.approx(100 * np.arctan(0.5) / np.pi, abs=2.5)  # five s.e.
    assert found[1:] == (16, 0)
    assert sparse.judge(np.append(np.ones(20), 0.0), X, y)[1:] == (0, 0)
    assert sparse.judge(np.zeros(21), X, y)[1:] == (16, 4)


def test_modes_with_sparse_priors_have_zeros_and_means_do_not(run):
    table = next(t for t in run.result.tables if t.title.startswith("Sparse"))
    zeros = {row.name: row.values[1] for row in table.rows}
    assert zeros["knapsack, l1, mode"] > 2 + zeros["knapsack, l1, mean"]
    assert zeros["LASSO"] > zeros["ridge"]


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_line_cut_short_costs_no_other_split(tmp_path, cut):
    """A run that was killed while it wrote: the next line begins anew."""
    path, (first, second, third) = tmp_path / "state", made_up(3, ["a"])
    splits.write_state(path, "key", first)
    splits.write_state(path, "key", second)
    path.write_bytes(path.read_bytes()[:-cut])
    splits.write_state(path, "key", third)
    assert splits.read_state(path, "key") == {
        (one.data, one.split): one for one in (first, third)
    } | ({("a", 1): second} if cut == 1 else {})
    path.write_bytes(b'[1, [], {}]\n["key", [2], 0, {}, {}]\n\xff\n' + path.read_bytes())
    assert len(splits.read_state(path, "key")) == (3 if cut == 1 else 2)


# The max-marginals -------------------------------------------------------------------------------


def test_marginal_mean_and_mode_are_drawn():
    from matplotlib.figure import Figure

    X, y = knapsack_toy(0)
    engine = KnapsackPropagation(bins=32, n_iter=10)
    posterior = BayesPointClassifier(engine=engine).fit(X, y).posterior_
    ax = Figure().subplots()
    marginals.draw_marginal(ax, posterior, 1)
    curve, mean, mode = ax.get_lines()
    assert mean.get_xdata()[0] == posterior.mean[1, 0]
    assert mode.get_xdata() == posterior.mode[1, 0]
    np.testing.assert_allclose(curve.get_ydata().max(), 1)
    assert np.isin(curve.get_xdata(), posterior.grids[0, 1]).all()
    assert ax.get_title() == "weight of x1"
