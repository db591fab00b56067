"""The public data sets we know by name: what they are, where they come from, on which terms.

Checksums are those that somebody published: MD5 by GroupLens beside each archive, SHA-256 and
sizes by TensorFlow Datasets. Where nobody did, there is none; we invent none.
"""

from __future__ import annotations

from functools import partial

from truerank.data.registry import parsers
from truerank.data.registry.dataset import Dataset, RawFile

_GROUPLENS = "https://files.grouplens.org/datasets"
_LIGHTGCN = "https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/master/data"
_NCF = "https://raw.githubusercontent.com/hexiangnan/neural_collaborative_filtering/master/Data"
_DEEPCF = "https://raw.githubusercontent.com/familyld/DeepCF/master/Data"
_TWEETINGS = "https://raw.githubusercontent.com/sidooms/MovieTweetings/master"
_TRIPLETS = "challenge/train_triplets.txt.zip"

_MOVIELENS = "F. M. Harper, J. A. Konstan (2015), The MovieLens Datasets, ACM TiiS 5(4)"
_NO_REDISTRIBUTION = (
    "MovieLens terms: research use with acknowledgement; no redistribution and no commercial use "
    "without permission."
)
_SAME_TERMS = (
    "MovieLens terms: research use with acknowledgement; redistribution under the same terms; no "
    "commercial use without permission."
)
_UNSTATED = "No licence is stated for the data: use them for research, do not redistribute them."


def _adjacency_files(name: str) -> tuple[RawFile, ...]:
    return tuple(
        RawFile(file=file, urls=(f"{_LIGHTGCN}/{name}/{file}",))
        for file in ("train.txt", "test.txt")
    )


def _ncf_files(base: str, stem: str) -> tuple[RawFile, ...]:
    return tuple(
        RawFile(file=f"{stem}.{kind}", urls=(f"{base}/{stem}.{kind}",))
        for kind in ("train.rating", "test.rating", "test.negative")
    )


_ALL = (
    Dataset(
        name="ml-100k",
        title="MovieLens 100K: film ratings, 1997-98",
        licence=_NO_REDISTRIBUTION,
        citation=_MOVIELENS,
        origin="https://grouplens.org/datasets/movielens/100k/",
        raw_files=(
            RawFile(
                file="ml-100k.zip",
                urls=(f"{_GROUPLENS}/movielens/ml-100k.zip",),
                md5="0e33842e24a9c977be4e0107933c0723",
                sha256="50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
                size=4_924_029,
            ),
        ),
        parser=partial(parsers.ratings, member="u.data", delimiter="\t"),
        by_hand=(("u.data",),),
        shape=(943, 1_682, 100_000),
    ),
    Dataset(
        name="ml-1m",
        title="MovieLens 1M: film ratings, 2000",
        licence=_NO_REDISTRIBUTION,
        citation=_MOVIELENS,
        origin="https://grouplens.org/datasets/movielens/1m/",
        raw_files=(
            RawFile(
                file="ml-1m.zip",
                urls=(f"{_GROUPLENS}/movielens/ml-1m.zip",),
                md5="c4d9eecfca2ab87c1945afe126590906",
                sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
                size=5_917_549,
            ),
        ),
        parser=partial(parsers.ratings, member="ratings.dat", delimiter="::"),
        by_hand=(("ratings.dat",),),
        shape=(6_040, 3_706, 1_000_209),
    ),
    Dataset(
        name="ml-20m",
        title="MovieLens 20M: film ratings, 1995-2015",
        licence=_SAME_TERMS,
        citation=_MOVIELENS,
        origin="https://grouplens.org/datasets/movielens/20m/",
        raw_files=(
            RawFile(
                file="ml-20m.zip",
                urls=(f"{_GROUPLENS}/movielens/ml-20m.zip",),
                md5="cd245b17a1ae2cc31bb14903e1204af3",
                sha256="96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
                size=198_702_078,
            ),
        ),
        parser=partial(parsers.ratings, member="ratings.csv", delimiter=",", header=True),
        by_hand=(("ratings.csv",),),
        shape=(138_493, 26_744, 20_000_263),
    ),
    Dataset(
        name="ml-latest-small",
        title="MovieLens latest small: film ratings, 1996-2018",
        licence=_SAME_TERMS,
        citation=_MOVIELENS,
        origin="https://grouplens.org/datasets/movielens/latest/",
        # No checksum: its publisher says that this file may change.
        raw_files=(
            RawFile(
                file="ml-latest-small.zip", urls=(f"{_GROUPLENS}/movielens/ml-latest-small.zip",)
            ),
        ),
        parser=partial(parsers.ratings, member="ratings.csv", delimiter=",", header=True),
        by_hand=(("ratings.csv",),),
        shape=(610, 9_724, 100_836),
    ),
    Dataset(
        name="netflix",
        title="Netflix Prize: film ratings, 1998-2005",
        licence=(
            "Netflix Prize terms: research use with acknowledgement; no redistribution and no "
            "commercial use without permission."
        ),
        citation="J. Bennett, S. Lanning (2007), The Netflix Prize, KDD Cup and Workshop",
        origin="https://www.kaggle.com/datasets/netflix-inc/netflix-prize-data",
        raw_files=(
            RawFile(
                file="nf_prize_dataset.tar.gz",
                urls=("https://archive.org/download/nf_prize_dataset.tar/nf_prize_dataset.tar.gz",),
            ),
        ),
        parser=parsers.netflix,
        by_hand=(
            ("training_set.tar",),
            ("netflix-prize-data.zip",),
            ("archive.zip",),
            tuple(f"combined_data_{i}.txt" for i in (1, 2, 3, 4)),
        ),
        shape=(480_189, 17_770, 100_480_507),
    ),
    Dataset(
        name="msd",
        title="Million Song Dataset, Taste Profile: play counts, 2011",
        licence=(
            "The Echo Nest Taste Profile Subset: for research; see its page for the full terms."
        ),
        citation="T. Bertin-Mahieux et al. (2011), The Million Song Dataset, ISMIR",
        origin="http://millionsongdataset.com/tasteprofile/",
        raw_files=(
            RawFile(
                file="train_triplets.txt.zip",
                urls=(
                    f"http://millionsongdataset.com/sites/default/files/{_TRIPLETS}",
                    "http://labrosa.ee.columbia.edu/millionsong/sites/default/files/" + _TRIPLETS,
                    "http://labrosa.ee.columbia.edu/~dpwe/tmp/train_triplets.txt.zip",
                ),
            ),
        ),
        parser=parsers.taste_profile,
        by_hand=(("train_triplets.txt",),),
        duplicates="sum",  # plays of the same song add up
        shape=(1_019_318, 384_546, 48_373_586),
    ),
    Dataset(
        name="gowalla",
        title="Gowalla check-ins, split of NGCF and LightGCN",
        licence=_UNSTATED,
        citation="X. He et al. (2020), LightGCN, SIGIR; data: E. Cho et al. (2011), KDD",
        origin="https://github.com/gusye1234/LightGCN-PyTorch",
        raw_files=_adjacency_files("gowalla"),
        parser=parsers.adjacency,
        fixed_split=True,
        duplicates="first",
        shape=(29_858, 40_981, 1_027_370),
    ),
    Dataset(
        name="yelp2018",
        title="Yelp 2018 reviews, split of NGCF and LightGCN",
        licence=_UNSTATED,
        citation="X. He et al. (2020), LightGCN, SIGIR",
        origin="https://github.com/gusye1234/LightGCN-PyTorch",
        raw_files=_adjacency_files("yelp2018"),
        parser=parsers.adjacency,
        fixed_split=True,
        duplicates="first",
        shape=(31_668, 38_048, 1_561_406),
    ),
    Dataset(
        name="amazon-book",
        title="Amazon book reviews, split of NGCF and LightGCN",
        licence=_UNSTATED,
        citation="X. He et al. (2020), LightGCN, SIGIR; data: R. He, J. McAuley (2016), WWW",
        origin="https://github.com/gusye1234/LightGCN-PyTorch",
        raw_files=_adjacency_files("amazon-book"),
        parser=parsers.adjacency,
        fixed_split=True,
        duplicates="first",
        shape=(52_643, 91_599, 2_984_108),
    ),
    Dataset(
        name="pinterest-20",
        title="Pinterest pins, leave-one-out of NCF with 99 negatives",
        licence=_UNSTATED,
        citation="X. He et al. (2017), Neural Collaborative Filtering, WWW",
        origin="https://github.com/hexiangnan/neural_collaborative_filtering",
        raw_files=_ncf_files(_NCF, "pinterest-20"),
        parser=parsers.ncf,
        fixed_split=True,
        duplicates="first",
        shape=(55_187, 9_916, 1_500_809),
    ),
    Dataset(
        name="yelp",
        title="Yelp challenge reviews as prepared for eALS",
        licence=_UNSTATED,
        citation="X. He et al. (2016), Fast Matrix Factorization for Online Recommendation, SIGIR",
        origin="https://github.com/hexiangnan/sigir16-eals",
        raw_files=(
            RawFile(
                file="yelp.rating",
                urls=("https://github.com/hexiangnan/sigir16-eals/raw/master/data/yelp.rating",),
            ),
        ),
        parser=partial(parsers.ratings, member="yelp.rating", delimiter="\t"),
        duplicates="first",  # a second review of the same place is no new taste
        shape=(25_677, 25_815, 731_671),
        aliases=("yelp-eals",),
    ),
    Dataset(
        name="movietweetings",
        title="MovieTweetings 100K: film ratings in tweets, 2013",
        licence="MIT licence: free to use and to redistribute with its notice.",
        citation="S. Dooms et al. (2013), MovieTweetings, CrowdRec at RecSys",
        origin="https://github.com/sidooms/MovieTweetings",
        raw_files=(
            RawFile(
                file="ratings.dat",
                urls=(f"{_TWEETINGS}/snapshots/100K/ratings.dat",),
            ),
        ),
        parser=partial(parsers.ratings, member="ratings.dat", delimiter="::"),
        duplicates="last",  # who rates again has changed their mind
        shape=(16_554, 10_506, 100_000),
        aliases=("movietweetings-100k",),
    ),
    Dataset(
        name="ml-1m-ncf",
        title="MovieLens 1M, leave-latest-one-out of NCF with 99 negatives",
        licence=_NO_REDISTRIBUTION,
        citation="X. He et al. (2017), Neural Collaborative Filtering, WWW",
        origin="https://github.com/hexiangnan/neural_collaborative_filtering",
        raw_files=_ncf_files(_NCF, "ml-1m"),
        parser=parsers.ncf,
        fixed_split=True,
        shape=(6_040, 3_706, 1_000_209),
    ),
    Dataset(
        name="deepcf-lastfm",
        title="Last.fm plays, leave-one-out of DeepCF with 99 negatives",
        licence=_UNSTATED,
        citation="Z.-H. Deng et al. (2019), DeepCF, AAAI",
        origin="https://github.com/familyld/DeepCF",
        raw_files=_ncf_files(_DEEPCF, "lastfm"),
        parser=partial(parsers.ncf, value="value"),
        fixed_split=True,
        shape=(1_741, 2_665, 69_149),
    ),
    Dataset(
        name="lastfm-hetrec",
        title="Last.fm artists of HetRec 2011: play counts",
        licence="HetRec 2011 terms: non-commercial use with acknowledgement.",
        citation="I. Cantador et al. (2011), HetRec Workshop at RecSys",
        origin="https://grouplens.org/datasets/hetrec-2011/",
        raw_files=(
            RawFile(
                file="hetrec2011-lastfm-2k.zip",
                urls=(f"{_GROUPLENS}/hetrec2011/hetrec2011-lastfm-2k.zip",),
            ),
        ),
        parser=partial(
            parsers.ratings, member="user_artists.dat", delimiter="\t", header=True, value="count"
        ),
        by_hand=(("user_artists.dat",),),
        duplicates="sum",
        shape=(1_892, 17_632, 92_834),
    ),
    Dataset(
        name="pinterest-37501",
        title="Pinterest pins of the first 37,501 users of NCF; parts loo and split (leaky)",
        licence=_UNSTATED,
        citation="X. He et al. (2017), Neural Collaborative Filtering, WWW",
        origin="https://github.com/kangkang-yun/HMGCN",
        fixed_split=True,
        default_part="loo",
        duplicates="first",
        shape=(37_501, 9_836, 1_000_154),
    ),
    Dataset(
        name="yelp-social",
        title="Yelp reviews of QRec, random split; gaps in the ids, cold test items",
        licence=_UNSTATED,
        citation="J. Yu et al. (2021), QRec, https://github.com/Coder-Yu/QRec",
        origin="https://github.com/BlueGhostYi/DVGRL",
        fixed_split=True,
        shape=(19_539, 22_228, 450_884),
    ),
    Dataset(
        name="steam-caserec",
        title="Steam purchases and hours of play; parts purchase and play",
        licence=_UNSTATED,
        citation="A. da Costa et al. (2018), Case Recommender, RecSys",
        origin="https://github.com/caserec/Datasets-for-Recommender-Systems",
        default_part="purchase",
        duplicates="max",  # the same title listed twice (two editions) is owned once
        shape=(12_393, 5_155, 128_804),
    ),
    Dataset(
        name="msweb",
        title="Anonymous visits to areas of www.microsoft.com, one week of 1998",
        licence="From the UCI repository by way of the GPL-2 package recommenderlab.",
        citation="J. Breese, D. Heckerman, C. Kadie (1998), UAI",
        origin="https://github.com/mhahsler/recommenderlab",
        shape=(32_710, 285, 98_653),
    ),
)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
