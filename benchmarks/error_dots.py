"""The distribution of the errors of a model as a picture for a page."""

from __future__ import annotations

from collections.abc import Sequence


def error_dots(errors: Sequence[float]) -> str:
    """Return an SVG document: a dot per error in bins of 2.5 %.

    `errors`: relative, with their sign; those at even places are of fitted rows, the others held
    out.
    """
    bins: dict[int, list[bool]] = {}
    for number, error in enumerate(errors):
        bins.setdefault(round(100 * error / 2.5), []).append(bool(number % 2))
    low, high = min(*bins, -13), max(*bins, 13)
    tall = max(map(len, bins.values()))
    width, height = 22 * (high - low + 2), 16 * tall + 60
    at = {place: 22 * (place - low + 1) for place in range(low, high + 1)}
    base = height - 40
    dots = [
        f'<circle cx="{at[place]}" cy="{base - 10 - 16 * level}" r="6" '
        f'fill="{"#c2571a" if held else "#3b6ea5"}"/>'
        for place in sorted(bins)
        for level, held in enumerate(sorted(bins[place]))
    ]
    labels = [
        f'<text x="{at[place]}" y="{base + 16}" text-anchor="middle">{2.5 * place:+.0f} %</text>'
        for place in range(low, high + 1)
        if place % 4 == 0
    ]
    bounds = [
        f'<line x1="{at[6 * side]}" y1="10" x2="{at[6 * side]}" y2="{base}" '
        'stroke="#999" stroke-dasharray="4 3"/>'
        for side in (-1, 1)
    ]
    legend = (
        f'<text x="10" y="{height - 6}">error of the predicted cycles; blue: fitted rows, '
        "orange: held-out rows; dashed: 15 %</text>"
    )
    axis = f'<line x1="0" y1="{base}" x2="{width}" y2="{base}" stroke="#333"/>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *bounds, axis, *dots, *labels, legend, "</svg>"]) + "\n"
