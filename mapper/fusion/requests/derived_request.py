"""A request made from another one, whose mappings are read back as mappings of that one."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.searches.request import Request


@dataclass(frozen=True, slots=True)
class DerivedRequest(Request):
    """Request made from another one, `whole_request`, on which its mappings are scored."""

    whole_request: Request | None = None

    @property
    def source(self) -> Request:
        """The request that this one was made from."""
        assert self.whole_request is not None
        return self.whole_request

    def whole_mapping(self, mapping: LoopNest) -> LoopNest:
        """Return a mapping of this request as a mapping for the user's whole architecture."""
        return self.source.whole_mapping(mapping)

    @property
    def scoring_request(self) -> Request:
        """Request on which the model scores the mapping that was found: the one asked at first."""
        return self.source.scoring_request
