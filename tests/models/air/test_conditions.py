"""The conditions of a box: where they come from, their units, and what is wrong with them."""

import json
import re

import pytest

from steppe.errors import ModelError
from steppe.models.air.conditions import Conditions
from steppe.models.air.mechanism import MOLECULES
from steppe.models.air.mechanism_file import read_mechanism

EMEP = read_mechanism("emep66")
GIVEN = """
name: given
species: ["A", "B"]
reactions:
- {n: 1, eq: "A -> B", rate: {type: given, id: "PHOTO.ja"}}
- {n: 2, eq: "B ->", rate: {type: given, id: "LOSS.b", scale: 0.0}}
"""

OF_AIR = """
name: of_air
species: ["A", "B"]
reactions:
- {n: 1, eq: "A -> B", rate: {type: arrhenius, id: RC7, A: 1.0e-30, third: [M, H2O]}}
"""


@pytest.fixture
def of_air(tmp_path):
    (tmp_path / "of_air.yaml").write_text(OF_AIR, encoding="utf-8")
    return read_mechanism(tmp_path / "of_air.yaml")


@pytest.fixture
def given(tmp_path):
    (tmp_path / "given.yaml").write_text(GIVEN, encoding="utf-8")
    return read_mechanism(tmp_path / "given.yaml")


def of_file(folder, text, mechanism=EMEP, settings=()):
    (folder / "box.csv").write_text(text, encoding="utf-8")
    return Conditions.of(mechanism, folder / "box.csv", settings)


def test_a_mechanism_brings_its_own():
    found = Conditions.of(EMEP)
    assert (found.air["latitude"], found.air["start"], found.air["M"]) == (50.0, 4.0, 2.55e19)
    assert found.initial["O3"] == 5e11
    assert found.daylight() == (4.0 * 3600.0, 20.0 * 3600.0)


@pytest.mark.parametrize(
    "text",
    [
        "CONC.O3,1.0e-6\nENV.temperature,285\n",
        "parameter,value\nCONC.O3,1.0e-6\nENV.temperature,285\n",
        "CONC.O3 [mol m-3],1.0e-6\nENV.temperature [degC],11.85\n",
        "CONC.O3.mol m-3,1.0e-6\nENV.temperature.K,285\n",
        "O3 [molecules cm-3],6.02214076e11\nENV.temperature,285\n",
        "time [s],ENV.temperature [K],CONC.O3 [mol m-3]\n0,285,1.0e-6\n",
        "temperature [K],O3 [mol m-3]\n285,1.0e-6\n",
    ],
    ids=["lines", "lines with a title", "units", "units behind dots", "molecules", "columns", "columns without prefixes"],
)
def test_a_file_has_them_on_lines_or_in_columns(text, tmp_path):
    found = of_file(tmp_path, text)
    assert found.initial["O3"] == pytest.approx(1e-6 * MOLECULES, rel=1e-15)
    assert found.air["temperature"] == pytest.approx(285.0)


def test_a_setting_comes_last(tmp_path):
    found = of_file(tmp_path, "CONC.O3,1.0e-6\n", settings=["O3 = 40 ppb", "rate_factor_r36=0.5", "mixing_height = 2 km"])
    assert found.initial["O3"] == pytest.approx(40e-9 * 2.55e19)
    assert found.factors == {"r36": 0.5}
    assert found.air["mixing_height"] == 2000.0


def test_parts_of_the_air_do_not_depend_on_the_order(given, tmp_path):
    settings = ["NO2=10 ppb", "temperature=280"]
    emission = "PHOTO.ja=0"

    def amounts(*texts):
        return Conditions.of(given, None, [emission, *texts]).initial["A"]

    warm, cold = amounts("A=10 ppb"), amounts("temperature=280", "A=10 ppb")
    assert cold == pytest.approx(warm * 298.15 / 280.0, rel=1e-12)
    assert amounts("A=10 ppb", "temperature=280") == cold
    assert amounts("A=10 ppb", "M=1e19", "temperature=280") == pytest.approx(1e11)
    assert of_file(tmp_path, "CONC.A [ppb],10\nENV.temperature,280\n", given, [emission]).initial["A"] == cold
    assert of_file(tmp_path, "CONC.A [ppb],10\n", given, [emission, "temperature=280"]).initial["A"] == cold
    assert Conditions.of(EMEP, None, settings).initial == Conditions.of(EMEP, None, settings[::-1]).initial


def test_water_in_parts_of_the_air_does_not_depend_on_the_order(of_air):
    assert Conditions.of(of_air, None, ["H2O=10 ppm", "M=1e19"]).air["H2O"] == pytest.approx(1e14)


def test_a_pressure_counts_where_a_mechanism_has_no_air_of_its_own(of_air):
    low, usual = (Conditions.of(of_air, None, more).here["M"] for more in (["pressure=500 hPa"], []))
    assert low == pytest.approx(usual * 0.5e5 / 101_325.0)
    assert Conditions.of(EMEP, None, ["pressure=90000", "M=2.0e19"]).air["pressure"] == 90_000.0


def test_a_place_that_leaves_the_day_of_the_mechanism_is_remarked():
    said = ["Mechanism emep66 has light from hour 4 to 20 at any place. Set day_begin and day_end, too."]
    assert Conditions.of(EMEP, None, ["latitude=80"]).remarks == said
    assert Conditions.of(EMEP, None, ["declination=0", "day_begin=6", "day_end=18"]).remarks == []


def test_a_species_of_much_of_the_air_is_remarked(tmp_path):
    assert of_file(tmp_path, "CONC.O3,40\n").remarks == [
        "O3 begins at 2.4e+19 molecule cm-3, 94 % of the air. CONC.O3 without a unit is in mol m-3."
    ]
    assert Conditions.of(EMEP, None, ["O3=4e8 ppb"]).remarks == ["O3 begins at 1e+19 molecule cm-3, 40 % of the air."]
    assert of_file(tmp_path, "CONC.O3,40\n", settings=["O3=40 ppb"]).remarks == []
    assert Conditions.of(EMEP).remarks == []


@pytest.mark.parametrize("name", ["pressure", "M", "O2", "H2O", "mixing_height"])
def test_a_condition_that_counts_for_nothing_is_refused(name, given):
    setting = {"pressure": "pressure=900 hPa", "mixing_height": "mixing_height=900"}.get(name, f"{name}=1e17")
    says = f'--set "{setting}": no rate of mechanism given depends on {name}, so it has no effect. Remove it.'
    with pytest.raises(ModelError, match=f"^{re.escape(says)}$"):
        Conditions.of(given, None, ["PHOTO.ja=0", setting])


def test_air_counts_where_amounts_are_parts_of_it(given):
    for settings, parts in ((["A=10 ppb"], False), ([], True)):
        assert Conditions.of(given, None, ["PHOTO.ja=0", "pressure=500 hPa", *settings], parts).air["pressure"] == 50_000.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["day_begin=6"], "day_begin has no effect without day_end. Give both, in h."),
        (["day_end=6"], "day_end has no effect without day_begin. Give both, in h."),
        (["day_begin=20", "day_end=4"], "day_begin = 20 h is after day_end = 4 h. Give the earlier hour as day_begin."),
    ],
)
def test_a_day_has_a_beginning_before_its_end(settings, said, of_air):
    with pytest.raises(ModelError, match=re.escape(said)):
        Conditions.of(of_air, None, settings)


def test_one_end_of_the_day_may_replace_that_of_the_mechanism():
    assert Conditions.of(EMEP, None, ["day_begin=6"]).daylight() == (6.0 * 3600.0, 20.0 * 3600.0)


def test_a_small_pressure_needs_its_unit(of_air, tmp_path):
    with pytest.raises(ModelError, match=r"pressure = 1013 is in Pa without a unit, and most probably in hPa\. Write pressure=1013 hPa"):
        Conditions.of(of_air, None, ["pressure=1013"])
    with pytest.raises(ModelError, match=r"Write ENV\.pressure \[hPa\],1013, or Pa\."):
        of_file(tmp_path, "ENV.pressure,1013\n", of_air)
    with pytest.raises(ModelError, match=r"pressure = 10 Pa is outside its limits, 100 to 200000 Pa\."):
        Conditions.of(of_air, None, ["pressure=10"])
    assert Conditions.of(of_air, None, ["pressure=1013 Pa"]).air["pressure"] == 1013.0
    assert Conditions.of(of_air, None, ["pressure=1013 hPa"]).air["pressure"] == 101_300.0
    assert Conditions.of(of_air, None, ["pressure=1013 mbar"]).air["pressure"] == 101_300.0


def test_a_name_of_a_reaction_is_answered_with_its_label(of_air):
    assert Conditions.of(of_air, None, ["rate_factor_r1=0.5"]).factors == {"r1": 0.5}
    with pytest.raises(ModelError, match=r"has no reaction RC7\. Reaction RC7 is r1: write rate_factor_r1\."):
        Conditions.of(of_air, None, ["rate_factor_RC7=0.5"])


def test_a_rate_that_counts_for_nothing_need_not_be_given(given):
    assert Conditions.of(given, None, ["PHOTO.ja=1e-4"]).given == {"PHOTO.ja": 1e-4}


@pytest.mark.parametrize(
    "text",
    ["SURF.s,2.0e-8,1.0e11\n", "SURF.s.effective radius [m],2.0e-8\nSURF.s.particle number concentration [# m-3],1.0e11\n"],
    ids=["one line", "two lines"],
)
def test_a_surface_has_two_numbers(text, tmp_path):
    reaction = {"type": "SURFACE", "name": "s", "gas-phase species": "A", "gas-phase products": [{"name": "B"}]}
    gas = {"name": "gas", "species": [{"name": "A", "diffusion coefficient [m2 s-1]": 2.1e-5}, {"name": "B"}]}
    species = [{"name": "A", "molecular weight [kg mol-1]": 0.046}, {"name": "B"}]
    whole = {"version": "1.0.0", "species": species, "phases": [gas], "reactions": [reaction]}
    (tmp_path / "s.json").write_text(json.dumps(whole), encoding="utf-8")
    found = of_file(tmp_path, text, read_mechanism(tmp_path / "s.json"))
    assert found.given == {"SURF.s.effective radius": 2e-8, "SURF.s.particle number concentration": 1e11}
    with pytest.raises(ModelError, match=re.escape('SURF.s has the unit "cm". Write no unit: its two numbers are in m and # m-3.')):
        of_file(tmp_path, "SURF.s [cm],2.0e-6,1.0e11\n", read_mechanism(tmp_path / "s.json"))


def test_a_day_begins_where_the_sun_gives_light(given):
    begin, end = Conditions.of(given, None, ["PHOTO.ja=0", "latitude=50", "declination=23.5"]).daylight()
    assert (begin, end) == (pytest.approx(4.0 * 3600.0, abs=10.0), pytest.approx(20.0 * 3600.0, abs=10.0))
    assert Conditions.of(given, None, ["PHOTO.ja=0", "latitude=80", "declination=23"]).daylight() == (0.0, 86_400.0)
    assert Conditions.of(given, None, ["PHOTO.ja=0", "latitude=80", "declination=-23"]).daylight() == (0.0, 0.0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("O3", '--set "O3" is no setting. Write NAME=VALUE'),
        ("ISOPREN=1", 'mechanism emep66 has no ISOPREN. Did you mean "ISOPRE"'),
        ("CONC.ISOPREN=1", 'mechanism emep66 has no ISOPREN. Did you mean "ISOPRE"'),
        ("O3=many", "O3 is 'many'. Write a number [molecule cm-3]."),
        ("O3=-1", "O3 = -1 molecule cm-3 is outside its limits"),
        (
            "O3=1 pound",
            'O3 has the unit "pound". Write molecule cm-3, mol m-3, mol/m3, molec cm-3, molecules cm-3, molecules/cm3, ppm, ppb, ppt, '
            "nmol mol-1.",
        ),
        ("M=1 ppb", 'M has the unit "ppb". Write molecule cm-3, mol m-3, mol/m3, molec cm-3, molecules cm-3, molecules/cm3.'),
        ("O3=40ppb", "O3 is '40ppb'. Write a space before the unit: 40 ppb."),
        ("temperature=25 F", 'temperature has the unit "F". Write K, degC.'),
        ("rate_factor_r36=-0.5", "rate_factor_r36 = -0.5 is outside its limits, 0 to 1e+06."),
        ("rate_factor_r36=50 %", 'rate_factor_r36 has the unit "%". Write 1.'),
        ("pressure=90000", "mechanism emep66 has its own M, 2.55e+19 molecule cm-3, so pressure has no effect. Set M instead."),
        ("temperature=25", "temperature = 25 K is outside its limits, 150 to 400 K."),
        ("ENV.temprature=290", "ENV.temprature is unknown. Known are temperature, pressure"),
        ("rate_factor_r999=1", "mechanism emep66 has no reaction r999."),
        ("PHOTO.jx=1", "mechanism emep66 has no PHOTO.jx."),
    ],
)
def test_a_setting_that_is_wrong_is_refused_by_name(setting, said):
    with pytest.raises(ModelError) as caught:
        Conditions.of(EMEP, None, [setting])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ("{temperature: 25.0}", "temperature = 25 K is outside its limits, 150 to 400 K."),
        ("{latitude: 200.0}", "latitude = 200 degree is outside its limits, -90 to 90 degree."),
        ("{start: -3600.0}", "start = -1 h is outside its limits, 0 to 24 h."),
        ("{initial: {A: -1.0e+9}}", "initial: A = -1e+09 molecule cm-3 is outside its limits, 0 to 1e+25 molecule cm-3."),
        ("{initial_others: 1.0e+30}", "initial: A = 1e+30 molecule cm-3 is outside its limits, 0 to 1e+25 molecule cm-3."),
        ("{}\nconstants: {M: 1.0e+23}", "M = 1e+23 molecule cm-3 is outside its limits, 0 to 1e+22 molecule cm-3."),
    ],
)
def test_a_box_of_a_mechanism_has_the_limits_of_settings(box, said, tmp_path):
    (tmp_path / "of_air.yaml").write_text(f"{OF_AIR}box: {box}\n", encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        Conditions.of(read_mechanism(tmp_path / "of_air.yaml"))
    assert str(caught.value).startswith("Mechanism of_air")
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "are empty. Write lines such as"),
        ("CONC.O3,1e-6\nCONC.XY,1\n", 'box.csv", line 2: mechanism emep66 has no XY.'),
        ("CONC.O3,\n", 'box.csv", line 1: CONC.O3 has no value. Write one'),
        ("O3,\n", 'box.csv", line 1: O3 has no value. Write one'),
        ("CONC.O3,CONC.NO\n1e-6,1e-8\n2e-6,1e-8\n", "has 2 rows of conditions. A box takes one"),
        ("CONC.O3,CONC.NO\n1e-6\n", 'box.csv", line 2 has 1 value for 2 names.'),
        ("CONC.O3,CONC.NO\n1e-6,1e-8,1e-8\n", 'box.csv", line 2 has 3 values for 2 names.'),
        ("CONC.O3,CONC.NO\n1e-6,\n", 'box.csv", line 2: CONC.NO has no value.'),
        ("CONC.O3,1e-6\nCONC.NO,1e-8\nCONC.O3,2e-6\n", 'box.csv", lines 1 and 3 have CONC.O3 twice. Remove one.'),
        ("CONC.O3,CONC.O3\n1e-6,1e-8\n", 'box.csv", line 1 has CONC.O3 twice. Remove one.'),
        ("time.s,CONC.O3\n3600,1e-6\n", 'box.csv", line 2: time.s is 3600, and 0 is expected, the start. Conditions that change in time'),
        ("CONC.O3;1e-6\n", 'box.csv", line 1: a semicolon separates name and value. Separate them with a comma'),
        ("CONC.O3\t1e-6\n", 'box.csv", line 1: a tab separates name and value. Separate them with a comma'),
        ("CONC.O3,2,5e-6\n", "line 1: CONC.O3 has 2 values, and 1 is expected. Write a point in a number"),
        ("CONC.O3,40ppb\n", "CONC.O3 is '40ppb'. Write the unit behind the name: CONC.O3 [ppb]."),
        ("O3,40ppb\n", "O3 is '40ppb'. Write the unit behind the name: O3 [ppb]."),
        ('CONC.O3,"1,5"\n', "CONC.O3 is '1,5'. Write a point in a number: 1.5."),
        ("CONC.O3,much\n", "CONC.O3 is 'much'. Write a number [mol m-3]."),
        ("O3,1e-6\n", 'box.csv", line 1: O3 has no unit. Write CONC.O3, which is in mol m-3, or O3 [molecule cm-3].'),
        ("M,2e19\n", 'box.csv", line 1: M has no unit. Write CONC.M, which is in mol m-3, or M [molecule cm-3].'),
        ("parameter,value\n", "are empty. Write lines such as"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(text, said, tmp_path):
    with pytest.raises(ModelError) as caught:
        of_file(tmp_path, text)
    assert said in str(caught.value)


def test_factors_of_reactions_may_be_columns_and_are_no_title(tmp_path):
    assert of_file(tmp_path, "rate_factor_r36,temperature [K]\n0.5,285\n").factors == {"r36": 0.5}
    with pytest.raises(ModelError, match="line 1: rate_factor_r36 is 'half'"):
        of_file(tmp_path, "rate_factor_r36,half\n")


def test_a_column_of_time_may_be_there_at_the_start(tmp_path):
    assert of_file(tmp_path, "time.s,CONC.O3\n0.0,1e-6\n").initial["O3"] == pytest.approx(1e-6 * MOLECULES)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "latin.csv").write_bytes("# südlich\nCONC.O3,1e-6\n".encode("latin-1"))
    with pytest.raises(ModelError, match=r'latin\.csv" cannot be read: this is no text file in UTF-8\.'):
        Conditions.of(EMEP, tmp_path / "latin.csv")
    with pytest.raises(ModelError, match=r'none\.csv" cannot be read: No such file or directory\.'):
        Conditions.of(EMEP, tmp_path / "none.csv")


def of_outside(text, folder):
    """The rates from outside of a mechanism, one of them from a file of this text."""
    (folder / "o.yaml").write_text(
        'species: ["A", "B"]\nreactions:\n- {eq: "-> A", rate: {type: given, id: EMIS.a}}\n'
        '- {eq: "A + B ->", rate: {type: given, id: USER.ab}}\n- {eq: "A ->", rate: {type: given, id: USER.a}}\n',
        encoding="utf-8",
    )
    others = [f"{each}=0" for each in ("EMIS.a", "USER.ab", "USER.a") if not text.startswith((f"{each},", f"{each} ", f"{each}."))]
    return of_file(folder, text, read_mechanism(folder / "o.yaml"), others).given


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EMIS.a,2e-10", 2e-10),
        ("EMIS.a [mol m-3 s-1],2e-10", 2e-10),
        ("EMIS.a.mol m-3 s-1,2e-10", 2e-10),
        ("EMIS.a [molecule cm-3 s-1],6.02214076e7", 1e-10),
        ("USER.a [min-1],6", 0.1),
        ("USER.ab,6", 6.0),
    ],
)
def test_a_rate_from_outside_may_have_its_unit(text, expected, tmp_path):
    assert max(of_outside(text, tmp_path).values()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EMIS.a [mol m-2 s-1],1", 'EMIS.a has the unit "mol m-2 s-1". Write mol m-3 s-1, molecule cm-3 s-1.'),
        ("USER.a [ppb],1", 'USER.a has the unit "ppb". Write s-1, 1/s, min-1.'),
        ("USER.ab [s-1],1", 'USER.ab has the unit "s-1". Write no unit: the number is in that of the mechanism.'),
    ],
)
def test_another_unit_of_a_rate_from_outside_is_refused(text, said, tmp_path):
    with pytest.raises(ModelError, match=re.escape(said)):
        of_outside(text, tmp_path)


def test_parts_of_no_air_are_refused():
    with pytest.raises(ModelError, match=re.escape("Mechanism emep66 has no air, M = 0, so there are no amounts in parts of it.")):
        Conditions.of(EMEP, None, ["M=0"], parts=True)


def test_a_rate_from_outside_that_lacks_is_named(given):
    with pytest.raises(ModelError, match=r"takes rates from outside that are not given: PHOTO\.ja\. Give them with --conditions"):
        Conditions.of(given)
