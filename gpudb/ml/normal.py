"""The quantile function of the normal distribution in SQL: algorithm AS 241 (Wichura, 1988), to 16 digits."""

from __future__ import annotations

from collections.abc import Sequence

_CENTRE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457,
     67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077, 21213.794301586595867,
     39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_MIDDLE = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550, 0.148103976427480074590,
     0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
     0.0265321895265761230930, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def render_quantile(p: str) -> str:
    """Returns the normal quantile of `p`, an expression of double precision: of a probability between 0 and 1."""
    # Subqueries name what the polynomials read many times
    names = f"SELECT t.p - 0.5 AS q, sqrt(-ln(greatest(least(t.p, 1 - t.p), 1e-307))) AS r FROM (SELECT {p} AS p) AS t"
    centre = f"u.q * {_render_ratio(_CENTRE, '(0.180625 - u.q * u.q)')}"
    middle, tail = _render_ratio(_MIDDLE, "(u.r - 1.6)"), _render_ratio(_TAIL, "(u.r - 5)")
    outer = f"sign(u.q) * CASE WHEN u.r <= 5 THEN {middle} ELSE {tail} END"
    return f"(SELECT CASE WHEN abs(u.q) <= 0.425 THEN {centre} ELSE {outer} END FROM ({names}) AS u)"


def _render_ratio(coefficients: tuple[Sequence[float], Sequence[float]], x: str) -> str:
    return " / ".join(_render_polynomial(each, x) for each in coefficients)


def _render_polynomial(coefficients: Sequence[float], x: str) -> str:
    """Returns a polynomial, lowest power first, by Horner's rule."""
    text = f"{coefficients[-1]!r}::float8"
    for each in reversed(coefficients[:-1]):
        text = f"({text} * {x} + {each!r}::float8)"
    return text
