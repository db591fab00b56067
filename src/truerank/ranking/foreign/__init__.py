"""Ranks, lists and scores made elsewhere, read as RankTables."""

from truerank.ranking.foreign.lists import read_lists
from truerank.ranking.foreign.ncf import read_ncf_negatives
from truerank.ranking.foreign.ranks import read_ranks
from truerank.ranking.foreign.recognise import read_table
from truerank.ranking.foreign.trec import read_trec

__all__ = ["read_lists", "read_ncf_negatives", "read_ranks", "read_table", "read_trec"]
