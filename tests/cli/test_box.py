"""`steppe box`: the chemistry of one cell."""

import csv
import json
import os

import pytest
from matplotlib.image import imread

from steppe.errors import Exit

THREE = """
name: three
species: ["NO2", "NO", "O", "O3"]
reactions:
- {n: 1, eq: "NO2 -> NO + O", rate: {type: photolysis, A: 0.0145, B: 0.4}}
- {n: 2, eq: "O -> O3", rate: {type: loss, k: 7.7e+4}}
- {n: 3, eq: "NO + O3 -> NO2", rate: {type: arrhenius, A: 1.8e-12, C: -1370.0}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "three.yaml").write_text(THREE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_writes_and_draws(call, folder):
    code, said, _ = call("box", "emep66", "--hours", "6", "--csv", "box.csv", "--plot", "box.png", "--species", "O3")
    assert code == Exit.DONE
    assert said.startswith("emep66: 66 species, hour 4 to 6, ")
    assert said.splitlines()[-3].split() == ["O3", "5e+11", "4.7883e+11"]
    assert said.splitlines()[-2:] == ["box.csv", "box.png"]
    with (folder / "box.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["time [h]"] for row in rows] == ["4.0", "5.0", "6.0"]
    assert float(rows[-1]["O3 [molecule cm-3]"]) == pytest.approx(4.7883e11, rel=1e-4)
    assert imread(folder / "box.png").shape[1] > 500


def test_a_species_that_begins_at_0_is_counted(call, folder):
    code, said, _ = call("box", "three.yaml", "--hours", "12", "--set", "NO2 = 10 ppb", "--units", "ppb", "--every", "360")
    assert code == Exit.DONE
    assert "hour 0 to 12" in said
    assert "; 3 species begin at 0: NO, O, O3\n" in said
    assert [line.split()[:2] for line in said.splitlines() if line.startswith("NO2 ")] == [["NO2", "10"]]


def test_nothing_is_printed_when_it_is_to_be_quiet(call, folder):
    (folder / "a.csv").symlink_to("b.csv")
    assert call("box", "three.yaml", "--hours", "1", "--set", "NO2=1e10", "--csv", "a.csv", "--quiet") == (Exit.DONE, "", "")
    assert (folder / "a.csv").is_symlink()  # a link stays one
    assert (folder / "b.csv").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["emep66", "--set", "O3=40 ppb", "--set", "CONC.O3=1"], '--set gives O3 more than once: "O3=40 ppb", "CONC.O3=1". Keep one.'),
        (["emep67"], 'There is no mechanism "emep67". Did you mean "emep66"?'),
        (["none.yaml"], 'Mechanism "none.yaml" cannot be read: No such file or directory.'),
        (["emep66", "--hours", "3"], "--hours 3 is not after the start, hour 4."),
        (["emep66", "--rates", "exakt"], '--rates "exakt" is unknown. Write one of model, exact.'),
        (["emep66", "--units", "ug m-3"], '--units "ug m-3" is unknown. Write one of molecule cm-3, mol m-3, ppb.'),
        (["emep66", "--rtol", "0"], "--rtol 0 is too small."),
        (["emep66", "--rtol", "1"], "--rtol 1 is too large. Write a number below 1"),
        (["emep66", "--step", "inf"], "--step inf is no amount. Write a number above 0."),
        (["emep66", "--hours", "5", "--every", "1e-15"], "--every 1e-15 is too small. Write 1.7e-08 or more."),
        (["emep66", "--hours", "5", "--every", "1e-5"], "--every 1e-05 makes 6e+06 rows in 1 h, and 1,000,000 are the most."),
        (["emep66", "--hours", "5", "--step", "1e-5"], "--step 1e-05 makes 3.6e+08 steps in 1 h, and 10,000,000 are the most."),
        (["emep66", "--hours", "nan"], "--hours nan is no hour. Write a number"),
        (["emep66", "--hours", "inf"], "--hours inf is no hour. Write a number"),
        (["emep66", "--plot", "no/box.png"], '"no/box.png" cannot be written: there is no folder "no". Make it'),
        (["emep66", "--plot", "box.jpg"], '--plot "box.jpg" is no name of a PNG file. Give a name that ends in .png.'),
        (["emep66", "--hours", "5", "--species", "XY"], "Mechanism emep66 has no XY."),
        (["emep66", "--set", "temperature=25"], "temperature = 25 K is outside its limits, 150 to 400 K."),
        (["emep66", "--conditions", "none.csv"], 'The conditions "none.csv" cannot be read'),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(words, said, call, folder):
    before = sorted(folder.iterdir())
    code, _, error = call("box", *words, "--csv", "out.csv")
    assert code == Exit.MISTAKE
    assert said in error
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--csv", "no/box.csv"], '"no/box.csv" cannot be written: there is no folder "no". Make it'),
        (["--csv", "."], '"." is a folder, expected the name of a file'),
        (["--csv", "pipe"], '"pipe" is a device or a pipe, expected the name of a file'),
        (["--csv", "a.png", "--plot", "./a.png"], '--csv and --plot are both "a.png". Give each a name of its own.'),
    ],
)
def test_a_place_that_cannot_be_written_is_named_before_the_run(words, said, call, folder):
    os.mkfifo(folder / "pipe")
    code, _, error = call("box", "three.yaml", *words)
    assert code == Exit.MISTAKE
    assert said in error
    assert "100 %" not in error


def test_so_much_of_a_species_that_the_unit_is_a_slip_is_told(call, folder):
    (folder / "box.csv").write_text("CONC.O3,40\n", encoding="utf-8")
    code, _, error = call("box", "emep66", "--hours", "4.01", "--conditions", "box.csv", "--quiet")
    assert code == Exit.DONE
    assert error == "steppe: O3 begins at 2.4e+19 molecule cm-3, 94 % of the air. CONC.O3 without a unit is in mol m-3.\n"


def test_an_end_with_more_than_a_tenth_of_the_air_is_told(call, folder):
    (folder / "much.yaml").write_text(THREE.replace('"NO + O3 -> NO2"', '"NO + O3 -> 3 NO2"'), encoding="utf-8")
    code, _, error = call("box", "much.yaml", "--hours", "14", "--set", "NO2=1e12", "--set", "latitude=50", "--quiet")
    assert code == Exit.DONE
    assert error.startswith(
        "steppe: NO2, NO, O, O3 grew to more than a tenth of the air; NO2 ends at 1.4e+152 molecule cm-3, 5.6e+132 times the air. "
    )
    assert call("box", "three.yaml", "--hours", "14", "--set", "NO2=1e12", "--set", "latitude=50", "--quiet") == (Exit.DONE, "", "")


def test_an_energy_of_activation_gives_the_result_of_its_temperature(call, folder):
    """Of a file in OpenAtmos' format: Ea is -C k, with k 1.380649e-23 J K-1."""
    sides = {"reactants": [{"name": "NO"}, {"name": "O3"}], "products": [{"species name": "NO2"}]}
    names = ["NO2", "NO", "O3"]
    light = {"type": "PHOTOLYSIS", "name": "jno2", "reactants": [{"name": "NO2"}], "products": [{"name": "NO"}, {"name": "O3"}]}
    ends = []
    for n, energy in enumerate(({"Ea": 1370.0 * 1.380649e-23}, {"C": -1370.0}, {})):
        reactions = [light, {"type": "ARRHENIUS", "A": 1.084e6, **energy, **sides}]
        whole = {"version": "1.0.0", "species": [{"name": name} for name in names], "phases": [{"name": "gas", "species": names}]}
        (folder / f"{n}.json").write_text(json.dumps({**whole, "reactions": reactions}), encoding="utf-8")
        settings = ("--set", "PHOTO.jno2=0.01", "--set", "NO2=1e12")
        _, said, _ = call("box", f"{n}.json", "--hours", "12", *settings, "--species", "O3", "--csv", f"{n}.csv")
        ends.append(said.splitlines()[-2])
    assert ends[0] == ends[1] != ends[2]


@pytest.mark.parametrize("rates", ["model", "exact"])
@pytest.mark.parametrize(
    ("rate", "value"),
    [("arrhenius, A: 1.0, E: -2.0e-5", "-1.0265"), ("troe, k0_A: 0.0, kinf_A: 0.0", "nan")],
)
def test_a_rate_that_is_negative_or_no_number_is_named(rate, value, rates, call, folder):
    (folder / "bad.yaml").write_text(THREE.replace("loss, k: 7.7e+4", rate), encoding="utf-8")
    code, _, error = call("box", "bad.yaml", "--hours", "1", "--set", "NO2=1e12", "--rates", rates)
    assert code == Exit.MISTAKE
    assert f"the rate of reaction r2 is {value}, and 0 or more is expected." in error


@pytest.mark.parametrize("rates", ["model", "exact"])
def test_a_solver_that_cannot_go_on_names_the_hour_and_the_species(rates, call, folder):
    (folder / "bad.yaml").write_text(THREE.replace("7.7e+4", "1.0e+200"), encoding="utf-8")
    code, _, error = call("box", "bad.yaml", "--hours", "12", "--set", "NO2=1e12", "--set", "O=1e12", "--rates", rates)
    assert code == Exit.MISTAKE
    assert "The solver cannot go on at hour" in error
    (folder / "one.yaml").write_text('species: ["A"]\nreactions:\n- {eq: "A -> 2 A", rate: {type: loss, k: 1.0e+300}}\n', encoding="utf-8")
    code, _, error = call("box", "one.yaml", "--set", "A=1e12", "--rates", rates)
    assert code == Exit.MISTAKE
    assert "for A at 1e+12 molecule cm-3" in error
