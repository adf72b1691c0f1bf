"""The options of a run: those of the run file, and those that the model picks by the variables of the weather, with reasons."""

from collections.abc import Collection, Mapping
from types import ModuleType

from steppe.engine.parameters import Chosen
from steppe.errors import ModelError, nearest
from steppe.models import Choice, Pick, default_of, picks_of


def with_picks(chosen: Chosen, module: ModuleType, choices: Mapping[str, Choice], available: Collection[str]) -> Chosen:
    """The options that the run file sets, and the picks of the model for others. available: names of the weather's variables.

    Raises
    ------
    ModelError
        The model picks an option or a word that it does not declare.
    """
    picks = picks_of(module, available)
    for name, pick in picks.items():
        if name not in choices:
            raise ModelError(f'`choose` of the model picks the option "{name}", which is not declared.{nearest(name, choices)}')
        if not isinstance(pick, Pick):
            raise ModelError(f'`choose` of the model gives {pick!r} for the option "{name}". Give Pick(word, reason).')
        choices[name].index(pick.word)
    picks = {name: pick for name, pick in picks.items() if name not in chosen.options}
    options = {name: pick.word for name, pick in picks.items()} | chosen.options
    return chosen._replace(options=options, reasons={name: pick.reason for name, pick in picks.items()} | chosen.reasons)


def options_text(chosen: Chosen) -> str:
    """Each option that is not left at its default, with the reason, on one line; "" if there are none.

    Examples
    --------
    >>> options_text(Chosen({}, {"pan": "radiation"}, {"pan": "the weather holds no pan"}))
    'pan = radiation (the weather holds no pan)'
    """
    return "; ".join(f"{name} = {word} ({chosen.reasons[name]})" for name, word in chosen.options.items())


def described(module: ModuleType, choices: Mapping[str, Choice]) -> dict[str, dict[str, object]]:
    """Option -> its meaning, its default, and its words with the meaning of each."""
    return {
        name: {
            "long_name": choice.long_name,
            "default": default_of(module, name, choice),
            "words": dict(zip(choice.words, choice.meanings, strict=True)),
        }
        for name, choice in choices.items()
    }
