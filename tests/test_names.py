"""What `steppe` shows of itself."""

import steppe


def test_dir_shows_the_public_names_alone():
    assert dir(steppe) == sorted(steppe.__all__)
    assert "example" in dir(steppe)


def test_every_public_name_leads_somewhere():
    for name in steppe.__all__:
        assert getattr(steppe, name) is not None
