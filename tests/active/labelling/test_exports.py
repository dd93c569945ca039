"""What a session ends with."""

import numpy as np
import pandas as pd

from bayespoint.active.labelling.exports import label_column, label_studio
from bayespoint.active.labelling.items import Items
from bayespoint.active.labelling.journal import Answer, Answers

FRAME = pd.DataFrame({"text": ["a", "b", None, "d"], "size": [1.0, np.nan, 0.1 + 0.2, 4.0]})
ANSWERS = Answers({3: "yes"}, 4, ["no", "yes"])
ANSWERS.add(Answer(1, 0, "yes", at="2026-01-01T00:00:00+00:00"))
ANSWERS.add(Answer(2, 1, None))
ANSWERS.add(Answer(3, 3, "no", second=True))


def test_label_column():
    assert label_column(ANSWERS, 4).tolist() == ["yes", None, None, "no"]


def test_label_studio():
    items = Items(FRAME, "pool.csv", None, "text", ["text"])
    shares = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])
    tasks = label_studio(items, ANSWERS, ["no", "yes"], shares)
    assert [task["id"] for task in tasks] == [1, 2, 3, 4]
    assert tasks[0]["data"] == {"text": "a", "size": "1"}
    assert tasks[1]["data"]["size"] == "" and tasks[2]["data"] == {"text": "", "size": "0.3"}
    said = {"from_name": "label", "to_name": "item", "type": "choices"}
    yes, no = ({**said, "value": {"choices": [word]}} for word in ("yes", "no"))
    assert tasks[0]["annotations"] == [
        {"result": [yes], "was_cancelled": False, "created_at": "2026-01-01T00:00:00+00:00"}
    ]
    assert tasks[1]["annotations"][0]["result"] == []  # cannot say
    assert tasks[1]["annotations"][0]["was_cancelled"]
    assert tasks[2]["annotations"] == []  # nobody has seen it
    assert tasks[3]["annotations"][0]["result"] == [no]  # after a second look
    assert tasks[2]["predictions"][0]["result"] == [no]
    assert tasks[2]["predictions"][0]["score"] == 0.9
    bare = label_studio(items, ANSWERS, [])
    assert all(task["predictions"] == [] for task in bare)
