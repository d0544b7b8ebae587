"""Values of flags, as argparse is to read them."""


def at_least_0(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def at_least_1(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
