"""Planning: how many users, and how many items a user, tell what one wants to know."""

from truerank.planning.plan_design import plan
from truerank.planning.result import Plan

__all__ = ["Plan", "plan"]
