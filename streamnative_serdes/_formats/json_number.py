"""Numbers of JSON with all their digits: decimals have more than floats."""


class JsonNumber(str):
    """A number with a fraction or an exponent, as its JSON text."""

    __slots__ = ()
