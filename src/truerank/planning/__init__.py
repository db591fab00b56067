"""Planning: how many users, and how many items a user, tell what one wants to know."""

from truerank.planning.plan_design import plan
from truerank.planning.result import Plan
from truerank.planning.sample_size import users_to_detect, users_to_detect_paired
from truerank.planning.user_sampling import (
    hoeffding_margin,
    margin_of_error,
    users_by_hoeffding,
    users_for_margin,
)

__all__ = [
    "Plan",
    "hoeffding_margin",
    "margin_of_error",
    "plan",
    "users_by_hoeffding",
    "users_for_margin",
    "users_to_detect",
    "users_to_detect_paired",
]
