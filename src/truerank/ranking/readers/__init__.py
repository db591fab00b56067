"""Ranks, lists and scores made elsewhere, read as RankTables."""

from truerank.ranking.readers.lists import read_lists
from truerank.ranking.readers.ncf import read_ncf_negatives
from truerank.ranking.readers.ranks import read_ranks, read_table
from truerank.ranking.readers.trec import read_trec

__all__ = ["read_lists", "read_ncf_negatives", "read_ranks", "read_table", "read_trec"]
