"""One query for all: its keys in an address, as a client writes and the server reads them, and on the wire."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.api.query import Along, MapQuery
from steppe.client import words
from steppe.server.query import DATA, IMAGE, read_query

QUERIES = st.builds(
    MapQuery,
    scenario=st.sampled_from(["main", "dry", "main@1"]),
    level=st.sampled_from([None, "3", "850 hPa"]),
    time=st.sampled_from(["latest", "step:3", "2001-03-05/2001-03-31"]),
    box=st.sampled_from([None, (150.0, -28.0, 153.0, -25.0)]),
    stride=st.integers(1, 1000),
    width=st.none() | st.integers(1, 8192),
    height=st.none() | st.integers(1, 8192),
    reduce=st.sampled_from(["mean", "min", "max", "first"]),
    packed=st.booleans(),
    dtype=st.sampled_from([None, "float32", "int16"]),
    format=st.sampled_from([None, "raw", "coverage-json"]),
)


@given(QUERIES)
def test_the_server_reads_what_a_client_writes(query: MapQuery) -> None:
    address = "&".join(f"{key}={value.replace(' ', '%20')}" for key, value in words.keys(query).items())
    assert MapQuery(**read_query(address.encode(), DATA)) == query


@given(QUERIES)
def test_a_query_is_the_same_after_the_wire(query: MapQuery) -> None:
    inner = msgspec.structs.replace(query, name="water", chosen=bytes(8), along=Along(steps=(1, 3), again=True, region=False))
    for asked in (query, inner):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(asked), type=MapQuery) == asked
        assert msgspec.convert(msgspec.to_builtins(asked), MapQuery) == asked


@pytest.mark.parametrize("words", [{"wdth": 3}, {"box": [1.0, 2.0, 3.0]}, {"reduce": "median"}, {"stride": "2"}, {"chosen": 5}])
def test_a_query_with_another_member_or_type_is_none(words: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(words, MapQuery)


def test_every_key_of_maps_and_images_is_a_member_of_the_query() -> None:
    assert {*DATA, *IMAGE} == {*MapQuery.__struct_fields__} - {"name", "chosen", "step", "along"}
