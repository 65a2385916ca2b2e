"""The table of docs/READERS.md is what the program says today."""

from readers_table import committed, table


def test_the_committed_table_is_a_freshly_made_one():
    assert committed().splitlines() == table().splitlines(), "rewrite it with tests/interop/readers_table.py"
