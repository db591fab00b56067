"""Screened ranking: blocks of users share their rivals, few meet the whole catalogue."""
