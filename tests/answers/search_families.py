"""The families of requests that ask for the best mapping."""

from __future__ import annotations

from request_sources import Source, cases, of_case, of_space, on_chip, opposed, spaces, squeezed

FORMULAS = (
    "energy * latency**2",
    "energy**2 * latency",
    "edp * usage.BUF",
    "energy + latency",
    "latency * usage.BUF",
    "energy * latency * (1 + usage.BUF)",
)
FRONTS = (("energy", "latency"), ("energy", "usage"), ("latency", "usage.BUF"))
FUSED = {
    "fused_cases:random_case": 14,
    "fused_cases:random_window_case": 4,
    "fused_cases:random_halo_case": 9,
    "fused_cases:random_ordered_case": 6,
    "fused_cases:random_shaped_case": 6,
    "fused_cases:random_narrow_case": 7,
    "fused_cases:random_wide_case": 7,
    "fused_cases:random_deep_case": 7,
    "fused_cases:random_relayed_case": 7,
    "fused_cases:random_network_case": 7,
    "fused_cases:random_meshed_case": 5,
    "fused_cases:random_spread_case": 8,
    "fused_cases:random_bounded_case": 7,
    "fused_cases:random_sized_case": 6,
    "fused_tolls:random_toll_case": 8,
    "used_cases:random_used_case": 7,
    "backed_cases:random_backed_case": 8,
    "deep_cases:random_exchanged_case": 8,
    "deep_cases:random_dealt_case": 8,
}
PLAIN, FUSED_PLAIN = "search_cases:space_of", "fused_cases:random_case"


def single() -> list[Source]:
    return [
        *spaces(
            {
                PLAIN: 22,
                "tight_cases:tight_space_of": 16,
                "bound_cases:bound_space_of": 14,
                "network_cases:network_space_of": 10,
                "array_cases:array_space_of": 9,
                "array_cases:loose_space_of": 7,
                "copied_cases:copied_space_of": 5,
                "network_cases:copied_network_space_of": 4,
            }
        ),
        *(
            Source(f"method {name}", 4, of_space(PLAIN, method=name, seed=7), 200)
            for name in ("exhaustive", "random", "annealing", "optuna")
        ),
    ]


def uneven() -> list[Source]:
    return [
        *spaces({"uneven_cases:uneven_space": 14, "network_cases:uneven_network_space_of": 6}),
        Source("front", 6, of_space("uneven_cases:uneven_space", front=FRONTS), 100),
        Source("formula", 4, of_space("uneven_cases:uneven_space", objective=FORMULAS), 200),
        *(
            Source(f"fused {where.split('_')[-2]}", n, of_case(where, uneven=["all"]), 50)
            for where, n in (
                (FUSED_PLAIN, 6),
                ("fused_cases:random_halo_case", 3),
                ("fused_cases:random_spread_case", 4),
            )
        ),
    ]


def fused() -> list[Source]:
    return [*cases(FUSED), Source("opposed", 6, opposed(FUSED_PLAIN), 300)]


def copies() -> list[Source]:
    return cases(
        {
            "copied_cases:random_copied_case": 9,
            "copied_cases:random_deep_copied_case": 5,
            "copied_cases:random_sent_case": 6,
            "copied_cases:random_spread_copied_case": 8,
        }
    )


def fronts() -> list[Source]:
    halo, spread = "fused_cases:random_halo_case", "fused_cases:random_spread_case"
    return [
        Source("single", 10, of_space(PLAIN, front=FRONTS), 100),
        Source("single tight", 5, of_space("tight_cases:tight_space_of", front=FRONTS), 100),
        Source("single network", 4, of_space("network_cases:network_space_of", front=FRONTS), 100),
        Source("fused", 10, of_case(FUSED_PLAIN, front=FRONTS), 100),
        Source("fused halo", 5, of_case(halo, front=FRONTS), 100),
        Source("fused spread", 5, of_case(spread, front=FRONTS), 100),
        Source("copies", 4, of_case("copied_cases:random_copied_case", front=FRONTS), 100),
        Source("apart", 4, of_case(FUSED_PLAIN, front=FRONTS, fusion=False), 150),
        Source("formula", 8, of_space(PLAIN, objective=FORMULAS), 150),
        Source("fused formula", 8, of_case(FUSED_PLAIN, objective=FORMULAS), 200),
    ]


def options() -> list[Source]:
    halo = "fused_cases:random_halo_case"
    return [
        Source("budget 0", 7, of_space(PLAIN, budget=0), 300, 0),
        Source("fused budget 0", 7, of_case(FUSED_PLAIN, budget=0), 300, 0),
        Source("halo budget 0", 3, of_case(halo, budget=0), 300, 0),
        Source("uneven budget 0", 3, of_space("uneven_cases:uneven_space", budget=0), 300, 0),
        Source("front budget 0", 3, of_space(PLAIN, budget=0, front=FRONTS), 330, 0),
        Source("no fusion", 7, of_case(FUSED_PLAIN, fusion=False), 400),
        Source("one einsum", 4, of_case(FUSED_PLAIN, einsum=("Y", "Z")), 400),
        Source("fused method", 3, of_case(FUSED_PLAIN, method="random", seed=3), 430),
        Source("loops", 4, of_case(FUSED_PLAIN, max_fused_loops_per_rank_variable=1), 450),
        Source("unknown metric", 1, of_space(PLAIN, objective="energie"), 1, 1),
        Source("unknown memory", 1, of_case(FUSED_PLAIN, objective="edp * usage.BUFF"), 2, 1),
        Source("unknown front", 1, of_case(FUSED_PLAIN, front=["usage.NET"]), 1, 1),
        Source("unknown method", 1, of_space(PLAIN, method="anealing"), 1, 1),
        Source("unknown einsum", 1, of_case(FUSED_PLAIN, einsum="Q"), 1, 1),
        Source("unknown conventions", 1, of_space(PLAIN, conventions="timeloop"), 3, 1),
        Source("unknown variable", 1, of_space(PLAIN, uneven=["q"]), 1, 1),
    ]


def infeasible() -> list[Source]:
    """Ask for what does not fit; the answers are explanations."""
    too_small = [
        (PLAIN, 7), ("tight_cases:tight_space_of", 5), ("bound_cases:bound_space_of", 4),
        ("network_cases:network_space_of", 3), ("uneven_cases:uneven_space", 3),
    ]  # fmt: skip
    too_small_together = [
        (FUSED_PLAIN, 3), ("deep_cases:random_dealt_case", 2),
        ("copied_cases:random_copied_case", 2), ("fused_tolls:random_toll_case", 2),
    ]  # fmt: skip
    as_drawn = [
        ("fused_cases:random_narrow_case", 6), ("fused_cases:random_bounded_case", 4),
        ("deep_cases:random_exchanged_case", 4), ("used_cases:random_used_case", 3),
        ("fused_cases:random_shaped_case", 3), ("fused_cases:random_wide_case", 3),
    ]  # fmt: skip
    together = [(FUSED_PLAIN, 5), ("fused_cases:random_halo_case", 2)]
    one = [(where, n, squeezed(of_space(where))) for where, n in too_small]
    several = [(where, n, squeezed(of_case(where))) for where, n in too_small_together]
    drawn = [(where, n, of_case(where)) for where, n in as_drawn]
    return [
        *(
            Source(where.split(":")[1], amount, draw, 500, 1, refused=True)
            for where, amount, draw in (*one, *several, *drawn)
        ),
        *(
            Source("together", amount, on_chip(of_case(where)), 500, 1, refused=True)
            for where, amount in together
        ),
    ]
