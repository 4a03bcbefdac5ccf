"""The crate and the models that are derived from the crate accept the same parameters."""

from __future__ import annotations

from typing import cast

import pytest
from pydantic import ValidationError

from schedlab.workloads import declarations, native

pytestmark = pytest.mark.slow

FAULTS = (True, False, -1, 0, 1, 1.5, 2**40, None, "", "1ms", "10s", "3", "process", [], {}, float("nan"))


@pytest.mark.parametrize("name", declarations.names())
def test_the_crate_and_the_model_accept_the_same_parameters(name: str) -> None:
    model = native.adapter(name).parameters
    for parameter in [*model.model_fields, "no_such_parameter"]:
        for value in FAULTS:
            prepared = declarations.prepared_if_valid(name, {parameter: value}, 4)
            try:
                expected = cast("native.NativeParameters", model.model_validate({parameter: value})).prepared(4)
            except ValidationError:
                expected = None
            assert prepared == expected, f"{parameter} = {value!r}"
