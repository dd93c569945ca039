"""bayespoint label: pools of all kinds, what it writes, and bad input."""

import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
from tests.helpers.labelling import Client, Command, digits_pool, line_pool
from tests.helpers.running import error_line, invoke, loans, succeed, write

from bayespoint.active.labelling.pictures import png
from bayespoint.active.labelling.server import LabelServer
from bayespoint.cli.commands import label as module


@pytest.fixture
def person(monkeypatch):
    """Replaces the browser: answers questions as a person would, then ends the session.

    The test sets ``truth`` (a label for each row) and ``n``, and finds what was shown in ``seen``.
    """

    class Person:
        n, truth, seen, then = 10, None, None, staticmethod(lambda client: None)

        def label(self, server):
            client = Client(server)
            self.begun = client.get("begin")
            self.seen, item = [], self.begun["item"]
            for _ in range(self.n):
                self.seen.append(item)
                item = client.post("answer", row=item["row"], label=self.truth[item["row"]])["item"]
            self.then(client)

    person = Person()

    def serve_forever(self, poll_interval):
        import threading

        thread = threading.Thread(target=LabelServer.__mro__[1].serve_forever, args=(self, 0.01))
        thread.start()
        try:
            person.label(self)
        finally:
            self.shutdown()
            thread.join()

    monkeypatch.setattr(LabelServer, "serve_forever", serve_forever)
    monkeypatch.setattr(module.webbrowser, "open", lambda address: None)
    return person


def test_a_table_from_the_first_label_to_predictions(person, tmp_path):
    table = loans(120)
    pool = write(table.drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = table["repaid"].tolist(), 40
    result = succeed("label", pool, "--classes", "no,yes", "--target", "repaid")
    rows = list(dict.fromkeys(item["row"] for item in person.seen))  # some were seen twice
    assert f"{len(rows)} of 120 rows" in result.stdout and len(rows) > 30
    assert "column 'customer' is left out" in result.stderr
    names = [name for name, _ in person.seen[0]["fields"]]
    assert names == ["customer", "joined", "age", "city", "member", "country"]  # all are shown
    # The table.
    found = pd.read_csv(tmp_path / "pool.labelled.csv")
    assert found["repaid"].notna().sum() == len(rows)
    assert (found["repaid"].iloc[rows] == table["repaid"].iloc[rows]).all()
    pd.testing.assert_frame_equal(
        found.drop(columns="repaid"), pd.read_csv(pool), check_dtype=False
    )
    # The model: predict takes it, and train makes one of the table.
    new = write(loans(60, seed=1), tmp_path / "new.csv")
    model = tmp_path / "pool.labelled.bpm"
    succeed("predict", new, "--model", model, "--out", tmp_path / "answers.csv")
    answers = pd.read_csv(tmp_path / "answers.csv")
    # Which rows are asked for depends on the time that fits take; 32 random ones give 0.75 or more.
    assert (answers["label"] == loans(60, seed=1)["repaid"]).mean() > 0.6
    succeed("evaluate", new, "--model", model, "--target", "repaid")
    trained = tmp_path / "trained.bpm"
    succeed("train", tmp_path / "pool.labelled.csv", "--target", "repaid", "--model", trained)
    succeed("query", tmp_path / "pool.labelled.csv", "--model", trained, "--n", 5)
    # Label Studio.
    tasks = json.loads((tmp_path / "pool.labelled.json").read_text())
    assert len(tasks) == 120
    task = tasks[rows[0]]
    assert task["data"]["city"] == (table["city"][rows[0]] or "")
    (annotation,), (prediction,) = task["annotations"], task["predictions"]
    assert annotation["result"][0]["value"]["choices"] == [table["repaid"][rows[0]]]
    assert annotation["result"][0]["type"] == "choices" and not annotation["was_cancelled"]
    assert 0.5 <= prediction["score"] <= 1
    assert prediction["result"][0]["value"]["choices"][0] in ("no", "yes")
    unlabelled = next(task for task in tasks if not task["annotations"])
    assert unlabelled["predictions"]


def test_it_goes_on(person, tmp_path):
    table = loans(60)
    pool = write(table.drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = table["repaid"].tolist(), 8
    succeed("label", pool, "--classes", "no,yes")
    first = {item["row"] for item in person.seen}
    result = succeed("label", pool, "--classes", "no,yes")
    assert "8 answers already; continuing" in result.stderr
    assert not first & {item["row"] for item in person.seen}
    assert pd.read_csv(tmp_path / "pool.labelled.csv")["label"].notna().sum() == 16
    # Rows may be added at the end, and classes too.
    write(loans(70).drop(columns="repaid"), tmp_path / "longer.csv")
    lines = pool.read_text() + "".join(pool.read_text().splitlines(keepends=True)[1:6])
    pool.write_text(lines)
    person.n = 3
    person.truth = person.truth + person.truth[:5]
    succeed("label", pool, "--classes", "no,yes,maybe")
    assert len(pd.read_csv(tmp_path / "pool.labelled.csv")) == 65


def test_a_half_labelled_table(person, tmp_path):
    table = loans(60)
    known = table["repaid"].where(np.arange(60) < 25)
    pool = write(table.assign(repaid=known), tmp_path / "pool.csv")
    person.truth, person.n = table["repaid"].tolist(), 10
    succeed("label", pool, "--target", "repaid")
    assert person.begun["classes"] == ["no", "yes"] and person.begun["state"]["labels"] == 25
    assert all(item["row"] >= 25 for item in person.seen if not item["second"])
    assert "repaid" not in dict(person.seen[0]["fields"])  # a label is not shown
    found = pd.read_csv(tmp_path / "pool.labelled.csv")["repaid"]
    assert found.notna().sum() == 25 + len(
        {item["row"] for item in person.seen if not item["second"]}
    )
    assert (found.dropna() == table["repaid"][found.notna()]).all()


def test_digits_in_parquet_with_whole_numbers_as_classes(person, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    truth = digits_pool(tmp_path / "digits.csv")
    pd.read_csv(tmp_path / "digits.csv").head(300).to_parquet(tmp_path / "digits.parquet")
    person.truth, person.n = truth.astype(str).tolist(), 30
    images = []
    person.then = lambda client: images.append(
        client.request("GET", f"/{client.token}/{person.seen[0]['image']}")
    )
    result = succeed("label", tmp_path / "digits.parquet", "--classes", ",".join("0123456789"))
    assert "64 columns are the pixels of pictures, 8 x 8" in result.stderr
    assert images[0][0] == 200 and images[0][2].startswith(b"\x89PNG")
    found = pd.read_parquet(tmp_path / "digits.labelled.parquet")["label"].dropna()
    assert (found.astype(int) == truth[found.index]).all()
    assert len(found) == len({item["row"] for item in person.seen})
    assert str(tmp_path) not in str(pq.read_schema(tmp_path / "digits.labelled.parquet").metadata)
    task = json.loads((tmp_path / "digits.labelled.json").read_text())[0]
    assert task["data"].keys() == {"image"}
    assert task["data"]["image"].startswith("data:image/png;base64,iVBOR")
    model = tmp_path / "digits.labelled.bpm"
    succeed("predict", tmp_path / "digits.csv", "--model", model, "--out", tmp_path / "out.csv")
    right = pd.read_csv(tmp_path / "out.csv")["label"].to_numpy() == truth
    assert right.mean() > 0.3  # by chance: 0.1


THINGS = {"food": ["bread", "soup", "cheese", "an apple"], "sport": ["tennis", "chess", "a race"]}


def texts(n, seed=0):
    """Sentences about two things."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(THINGS), n)
    middle = ["We talked about", "Yesterday there was", "Nobody had thought of"]
    rows = [
        f"{rng.choice(middle)} {rng.choice(THINGS[y])}, number {i}." for i, y in enumerate(labels)
    ]
    return pd.DataFrame({"id": np.arange(n), "sentence": rows}), labels


def test_texts(person, tmp_path):
    table, labels = texts(80)
    pool = write(table, tmp_path / "pool.csv")
    person.truth, person.n = labels.tolist(), 60
    result = succeed("label", pool, "--classes", "food,sport")
    assert "learns from column 'sentence'" in result.stderr
    assert person.seen[0]["text"] == table["sentence"][person.seen[0]["row"]]
    assert dict(person.seen[0]["fields"]).keys() == {"id"}
    new, truth = texts(50, seed=1)
    new.loc[3, "sentence"] = None  # a text that is missing
    model = tmp_path / "pool.labelled.bpm"
    files = [write(new, tmp_path / "new.csv"), "--model", model, "--out", tmp_path / "out.csv"]
    succeed("predict", *files)
    right = pd.read_csv(tmp_path / "out.csv")["label"] == truth
    assert right.mean() > 0.75  # by chance: 0.56
    # The model goes on with another pool.
    more, labels = texts(60, seed=2)
    person.truth, person.n = labels.tolist(), 6
    succeed("label", write(more, tmp_path / "more.csv"), "--model", model, "--target", "label")
    assert person.begun["classes"] == ["food", "sport"]


def test_cells_that_a_spreadsheet_would_run(person, tmp_path):
    table, labels = texts(20)
    table["sentence"] = "=" + table["sentence"]
    pool = write(table, tmp_path / "pool.csv")
    person.truth, person.n = labels.tolist(), 3
    for options, first in (([], "="), (["--for-spreadsheet"], "'=")):
        succeed("label", pool, "--classes", "food,sport", *options)
        found = pd.read_csv(tmp_path / "pool.labelled.csv")["sentence"]
        assert found.tolist() == [first + one[1:] for one in table["sentence"]]


def test_pictures_by_their_names(person, tmp_path):
    pytest.importorskip("PIL")
    rng = np.random.default_rng(0)
    labels, names = rng.choice(["dark", "light"], 40), []
    (tmp_path / "pictures").mkdir()
    for i, y in enumerate(labels):
        pixels = rng.integers(0, 90, (24, 32)) + (160 if y == "light" else 0)
        names.append(f"pictures/{i}.png")
        (tmp_path / names[-1]).write_bytes(png(pixels.astype(np.uint8)))
    names[5], names[7] = "../secret.png", "/etc/passwd"
    (tmp_path.parent / "secret.png").write_bytes((tmp_path / names[0]).read_bytes())
    pool = write(pd.DataFrame({"file": names}), tmp_path / "pool.csv")
    person.truth, person.n = labels.tolist(), 20
    refused = []
    person.then = lambda client: refused.extend(
        client.request("GET", f"/{client.token}/image/{row}")[0] for row in (0, 5, 7)
    )
    result = succeed("label", pool, "--classes", "dark,light")
    assert "left out: 2 rows that cannot be shown (row 6, '../secret.png': the" in result.stderr
    assert refused == [200, 400, 400]
    assert not {5, 7} & {item["row"] for item in person.seen}
    files = [pool, "--model", tmp_path / "pool.labelled.bpm", "--out", tmp_path / "out.csv"]
    assert "2 pictures cannot be read" in succeed("predict", *files).stderr
    right = pd.read_csv(tmp_path / "out.csv")["label"] == labels
    assert right.drop([5, 7]).mean() > 0.9


def test_a_linear_model_goes_on_learning(person, tmp_path):
    table = loans(80)
    data, model = write(table.head(40), tmp_path / "old.csv"), tmp_path / "old.bpm"
    succeed("train", data, "--target", "repaid", "--model", model, "--kernel", "linear")
    pool = write(table.tail(40).drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = table["repaid"].tail(40).tolist(), 10
    succeed("label", pool, "--model", model)
    assert person.begun["classes"] == ["no", "yes"]
    new = write(loans(60, seed=1), tmp_path / "new.csv")
    files = [new, "--model", tmp_path / "pool.labelled.bpm", "--out", tmp_path / "out.csv"]
    succeed("predict", *files)
    right = pd.read_csv(tmp_path / "out.csv")["label"] == loans(60, seed=1)["repaid"]
    assert right.mean() > 0.6  # by chance: 0.5
    for options, words in (
        (["--target", "age"], "predicts 'repaid'"),
        (["--classes", "a,b"], "no"),
    ):
        assert words in error_line(invoke("label", pool, "--model", model, *options))


def test_one_class_gives_no_model(person, tmp_path):
    pool = write(loans(20).drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = ["yes"] * 20, 20
    result = succeed("label", pool, "--classes", "no,yes")
    assert "no model is written: it needs labels of two classes" in result.stderr
    assert not (tmp_path / "pool.labelled.bpm").exists()
    assert (pd.read_csv(tmp_path / "pool.labelled.csv")["label"] == "yes").all()


def test_a_journal_that_is_emptied_meanwhile(person, tmp_path):
    """No answer is accepted any more, and the results and a copy have all that were."""
    table = loans(40)
    pool = write(table.drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = table["repaid"].tolist(), 6
    journal, refused = tmp_path / "pool.labels.jsonl", []

    def empty(client):
        journal.write_bytes(b"")
        row = client.get("begin")["item"]["row"]
        body = json.dumps({"tab": "one", "row": row, "label": "yes"}).encode()
        refused.append(client.request("POST", f"/{client.token}/answer", body)[0])

    person.then = empty
    result = succeed("label", pool, "--classes", "no,yes")
    copy = tmp_path / "pool.labels.rescued.jsonl"
    assert refused == [507]
    assert (
        "warning: another program changed the journal" in result.stderr
        and str(copy) in result.stderr
    )
    assert pd.read_csv(tmp_path / "pool.labelled.csv")["label"].notna().sum() == 6
    copy.replace(journal)
    person.then = lambda client: None
    assert "6 answers already; continuing" in succeed("label", pool, "--classes", "no,yes").stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_writes_the_results(tmp_path, name):
    if not hasattr(signal, name) or os.name != "posix":
        pytest.skip("this system does not send the signal to other processes")
    write(line_pool()[0], tmp_path / "pool.csv")
    command = Command(tmp_path, "pool.csv", "--classes", "no,yes")
    client = Client.at(command.address)
    for label in ("no", "yes", "no"):
        client.post("answer", row=client.get("begin")["item"]["row"], label=label)
    assert command.end(getattr(signal, name)) == 0
    assert "3 of 40 rows" in (tmp_path / "output.txt").read_text()
    assert pd.read_csv(tmp_path / "pool.labelled.csv")["label"].notna().sum() == 3
    assert (tmp_path / "pool.labelled.bpm").exists() and (tmp_path / "pool.labelled.json").exists()


def test_a_signal_that_is_ignored_stays_so(tmp_path):
    """As with nohup: the terminal may be closed."""
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("this system has no SIGHUP")
    write(line_pool()[0], tmp_path / "pool.csv")
    ignore = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    command = Command(tmp_path, "pool.csv", "--classes", "no,yes", first=ignore)
    command.send(signal.SIGHUP)
    client = Client.at(command.address)
    client.post("answer", row=client.get("begin")["item"]["row"], label="no")
    assert command.end(signal.SIGTERM) == 0
    assert pd.read_csv(tmp_path / "pool.labelled.csv")["label"].notna().sum() == 1


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "name the classes with --classes"),
        (["--classes", "yes"], "at least two classes, got 'yes' only"),
        (["--classes", "yes,yes"], "at least two classes"),
        (["--classes", " , "], "got none"),
        (["--target", "repayd"], "Did you mean repaid?"),
        (["--target", "country"], "got 'DE' only"),
        (["--target", "repaid"], "every row has a value in 'repaid' already"),
        (["--target", "repaid", "--classes", "no,maybe"], "has 'yes', which --classes does not"),
        (["--classes", "a,b", "--text", "no"], "there is no column 'no' (--text)"),
        (["--classes", "a,b", "--text", "city", "--table"], "exclude each other"),
        (["--classes", "a,b", "--pixels", "8by8"], "needs a width and a height"),
        (["--classes", "a,b", "--pixels", "8x8"], "needs 64 columns of numbers"),
        (
            ["--classes", "a,b", "--image", "city"],
            "shown: row 1, 'Kiel': there is no such",
        ),
        (["--classes", "a,b", "--drop", "x"], "there is no column 'x' (--drop)"),
        (["--classes", "a,b", "--journal", "no/where/x"], "cannot write the journal no/where/x"),
    ],
)
def test_wrong_options(tmp_path, options, words):
    pool = write(loans(20), tmp_path / "pool.csv")
    assert words in error_line(invoke("label", pool, *options))
    assert not list(tmp_path.glob("*.labelled.*"))


def test_files_that_are_missing_changed_or_of_another_pool(person, tmp_path):
    assert "no such file" in error_line(invoke("label", tmp_path / "x.csv", "--classes", "a,b"))
    pool = write(loans(20).drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = loans(20)["repaid"].tolist(), 4
    succeed("label", pool, "--classes", "no,yes")
    options = ["--classes", "no,yes", "--journal", tmp_path / "pool.labels.jsonl"]
    other = write(loans(20, seed=3).drop(columns="repaid"), tmp_path / "other.csv")
    assert "belongs to another pool" in error_line(invoke("label", other, *options))
    shorter = write(loans(20).drop(columns="repaid").head(10), tmp_path / "shorter.csv")
    assert "belongs to another pool" in error_line(invoke("label", shorter, *options))
    line = error_line(invoke("label", pool, "--classes", "a,b"))
    assert "which is not among the classes a, b. Add it to --classes" in line
    write(loans(20, seed=3).drop(columns="repaid"), pool)
    assert "have changed" in error_line(invoke("label", pool, "--classes", "no,yes"))


def test_a_column_of_the_name_label(tmp_path):
    pool = write(loans(20).rename(columns={"city": "label"}), tmp_path / "pool.csv")
    assert "--target label" in error_line(invoke("label", pool, "--classes", "a,b"))


def test_a_port_in_use(person, tmp_path):
    pool = write(loans(20).drop(columns="repaid"), tmp_path / "pool.csv")
    other = write(loans(20).drop(columns="repaid"), tmp_path / "other.csv")
    person.truth, person.n = loans(20)["repaid"].tolist(), 1
    lines = []

    def again(client):
        options = ["--classes", "no,yes", "--port", client.port]
        lines.append(error_line(invoke("label", other, *options)))
        lines.append(error_line(invoke("label", pool, "--classes", "no,yes")))

    person.then = again
    succeed("label", pool, "--classes", "no,yes")
    assert "cannot use port" in lines[0] and "Omit --port" in lines[0]
    assert "another bayespoint label is using" in lines[1]


def test_two_people_label_the_same_pool(person, tmp_path):
    """Results have the name of their journal, and none overwrites that of another."""
    table = loans(60)
    pool = write(table.drop(columns="repaid"), tmp_path / "pool.csv")
    person.truth, person.n = table["repaid"].tolist(), 12
    succeed("label", pool, "--classes", "no,yes")
    first = (tmp_path / "pool.labelled.csv").read_bytes()
    person.truth = ["no" if label == "yes" else "yes" for label in person.truth]
    succeed("label", pool, "--classes", "no,yes", "--journal", tmp_path / "anna.jsonl")
    assert (tmp_path / "pool.labelled.csv").read_bytes() == first
    assert (tmp_path / "anna.labelled.csv").read_bytes() != first
    assert (tmp_path / "anna.labelled.bpm").exists() and (tmp_path / "anna.labelled.json").exists()
