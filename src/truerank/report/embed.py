"""Numbers inside a page: JSON that no name in it can break out of."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from truerank.plain_data import plain

# JSON needs none of these outside strings, so replacing them everywhere changes no value;
# without them neither </script> nor <!-- can appear. json itself escapes all but ASCII.
HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def embedded_json(data: Any) -> Markup:
    r"""``data`` as JSON for a ``<script type="application/json">`` element.

    NaN and infinities, which JSON does not know, become null; numpy values become plain ones.

    >>> print(embedded_json({"name": "</script>", "value": float("nan")}))
    {"name": "\u003c/script\u003e", "value": null}
    """
    text = json.dumps(plain(data), allow_nan=False)
    # Made of ASCII with < > & escaped: nothing is left that HTML could read as its own.
    return Markup(text.translate(HARMLESS))  # noqa: S704
